// Segmentation offload merges datagrams of one length, of which only the last may be shorter, and
// keeps the headers of the first in front of them. Cutting them gives each its own lengths, and the
// Identification that it has on the wire: the kernel counts it up from that of the first.
//
// The ICRC proves a cut. A damaged packet is never cut, since no part of it has a valid ICRC.
#include <algorithm>

#include <rpcrdma/roce/coalesced.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::roce {
namespace {

constexpr std::size_t kLeast = wire::kBthBytes + wire::kIcrcBytes;
constexpr std::size_t kIpv6Bytes = 40, kUdpBytes = 8;
constexpr std::size_t kMaxHeaders = 128;
// Bounds the work for hostile packets: ICRCs computed to find the length.
constexpr int kMaxTries = 16;

// Pad bytes make every packet a multiple of this.
constexpr std::size_t kStep = 4;

bool may_be_bth(const std::uint8_t* bth, std::uint16_t pkey) {
  return wire::opcode_info(bth[0]).known && (bth[1] & 0x0f) == 0 &&
         wire::load_be16(bth + 2) == pkey && (bth[4] & 0x3f) == 0 && (bth[8] & 0x7f) == 0;
}

}  // namespace

void CoalescedPackets::set_headers(std::size_t length, std::uint16_t ip_id) {
  const capture::TransportPacket& t = merged_->transport;
  bytes_.assign(t.data.begin(), t.data.begin() + static_cast<std::ptrdiff_t>(t.bth));
  if (t.kind == wire::IcrcKind::kRoceV2Ipv4) {
    wire::store_be16(&bytes_[2], static_cast<std::uint16_t>(t.bth + length));
    wire::store_be16(&bytes_[4], ip_id);
  } else {
    wire::store_be16(&bytes_[4], static_cast<std::uint16_t>(t.bth - kIpv6Bytes + length));
  }
  wire::store_be16(&bytes_[t.bth - 4], static_cast<std::uint16_t>(kUdpBytes + length));
}

bool CoalescedPackets::icrc_good(std::size_t at, std::size_t length, std::uint16_t ip_id) {
  const capture::TransportPacket& t = merged_->transport;
  set_headers(length, ip_id);
  const wire::Bytes packet = t.transport().subspan(at, length);
  const std::size_t covered = length - wire::kIcrcBytes;
  return wire::icrc(t.kind, wire::Bytes(bytes_), packet.first(covered)) ==
         wire::load_icrc(packet.data() + covered);
}

// The cheap half of the proof: a BTH is wherever a packet of this length would begin.
bool CoalescedPackets::is_length(std::size_t length) const {
  const capture::TransportPacket& t = merged_->transport;
  const wire::Bytes all = t.transport();
  const std::uint16_t pkey = wire::load_be16(all.data() + 2);
  const std::size_t last = t.wire_length % length;
  if (last != 0 && last < kLeast) return false;
  for (std::size_t at = length; at + wire::kBthBytes <= all.size(); at += length) {
    if (!may_be_bth(all.data() + at, pkey)) return false;
  }
  return true;
}

bool CoalescedPackets::begin(const PreparedPacket& merged) {
  const capture::TransportPacket& t = merged.transport;
  merged_ = &merged;
  at_ = truncated_ = 0;
  number_ = 0;
  const bool v2 = t.kind == wire::IcrcKind::kRoceV2Ipv4 || t.kind == wire::IcrcKind::kRoceV2Ipv6;
  const wire::Bytes all = t.transport();
  if (!v2 || t.bth > kMaxHeaders || t.wire_length < 2 * kLeast || t.wire_length % kStep != 0 ||
      !may_be_bth(all.data(), wire::load_be16(all.data() + 2))) {
    return false;
  }
  int tries = 0;
  const std::size_t longest = std::min(all.size(), t.wire_length - kLeast);
  for (length_ = kLeast; length_ <= std::min(longest, kLongestPacket); length_ += kStep) {
    // Nearly always decided by the BTH of the second packet.
    if (!is_length(length_)) continue;
    if (icrc_good(0, length_, t.ip_id)) return true;
    if (++tries == kMaxTries) return false;
  }
  return false;
}

bool CoalescedPackets::next(PreparedPacket& packet) {
  const capture::TransportPacket& t = merged_->transport;
  if (at_ >= t.wire_length) return false;
  const std::size_t length = std::min(length_, t.wire_length - at_);
  const wire::Bytes all = t.transport();
  const std::size_t captured = at_ < all.size() ? std::min(length, all.size() - at_) : 0;
  if (captured < wire::kBthBytes) {
    truncated_ = (t.wire_length - at_ + length_ - 1) / length_;
    at_ = t.wire_length;
    return false;
  }
  const auto id = static_cast<std::uint16_t>(t.ip_id + number_);
  const bool whole = captured == length;
  // A device that merges received packets may have had the same Identification in all.
  const bool counted = whole && icrc_good(at_, length, id);
  const bool good = counted || (whole && icrc_good(at_, length, t.ip_id));
  set_headers(length, good && !counted ? t.ip_id : id);
  bytes_.insert(bytes_.end(), all.begin() + static_cast<std::ptrdiff_t>(at_),
                all.begin() + static_cast<std::ptrdiff_t>(at_ + captured));
  packet.transport = t;
  packet.transport.data = bytes_;
  packet.transport.wire_length = length;
  packet.transport.ip_id = t.kind == wire::IcrcKind::kRoceV2Ipv4 ? wire::load_be16(&bytes_[4]) : 0;
  packet.meta = merged_->meta;
  packet.vantage = merged_->vantage;
  packet.predecoded = nullptr;
  decode(packet);
  if (packet.decoded && whole) packet.icrc = good ? IcrcCheck::kGood : IcrcCheck::kBad;
  at_ += length;
  ++number_;
  return true;
}

}  // namespace rpcrdma::roce
