#include "ip_headers.h"

#include <cstring>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

Flow outgoing(const Path& path) {
  return {path.local, path.remote, path.udp_source_port};
}

Flow incoming(const Path& path) {
  return {path.remote, path.local, path.udp_source_port};
}

// `covered`: from the BTH to the last byte before the ICRC.
std::uint32_t icrc_along(const Flow& flow, std::uint16_t ip_id, wire::Bytes covered) {
  const IpHeaders headers = ip_headers(flow, ip_id, covered.size() + wire::kIcrcBytes);
  return wire::icrc(icrc_kind(flow), headers.span(), covered);
}

bool can_be_checked(wire::Bytes datagram) {
  return datagram.size() >= wire::kBthBytes + wire::kIcrcBytes &&
         datagram.size() <= kMaxDatagramBytes;
}

wire::Bytes covered_of(wire::Bytes datagram) {
  return datagram.first(datagram.size() - wire::kIcrcBytes);
}

std::uint32_t icrc_of(wire::Bytes datagram) {
  return wire::load_icrc(datagram.data() + datagram.size() - wire::kIcrcBytes);
}

// Two values of a received IPv4 header are unknown: the identification and, if another
// implementation sent it, the don't-fragment flag. They share a word with the fragment offset,
// which is 0. So of all ICRCs that are wrong for another reason, two in 65536 look valid.
enum class Unknown : std::uint8_t { kIdentification, kFlag, kNeither };

Unknown explain(std::uint32_t difference, std::size_t covered, std::uint16_t& ip_id) {
  constexpr std::size_t kBehindTheWord = kIpv4Bytes - 8 + kUdpBytes;
  constexpr std::uint32_t kFlagBit = 0x4000;
  const std::uint32_t word = wire::icrc_word_difference(difference, kBehindTheWord + covered);
  ip_id = static_cast<std::uint16_t>(ip_id ^ word >> 16);
  const std::uint32_t flags = word & 0xffff;
  if (flags == 0) return Unknown::kIdentification;
  return flags == kFlagBit ? Unknown::kFlag : Unknown::kNeither;
}

}  // namespace

std::size_t frame(const OutPacket& packet, std::uint16_t ip_id, wire::MutableBytes out) {
  return frame(packet, *packet.path, ip_id, out);
}

std::size_t frame(const OutPacket& packet, const Path& path, std::uint16_t ip_id,
                  wire::MutableBytes out) {
  const std::size_t length = packet.size() + wire::kIcrcBytes;
  if (out.size() < length || length > kMaxDatagramBytes) return 0;
  std::uint8_t* at = out.data();
  std::memcpy(at, packet.header.data(), packet.header_bytes);
  at += packet.header_bytes;
  for (std::size_t i = 0; i < packet.payload_parts; ++i) {
    const wire::Bytes part = packet.payload[i];
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  std::memset(at, 0, packet.pad_bytes);
  frame_again(path, ip_id, out.first(length));
  return length;
}

std::size_t frame_around(const OutPacket& packet, const Path& path, std::uint16_t ip_id,
                         wire::MutableBytes out) {
  const std::size_t length = packet.size() + wire::kIcrcBytes;
  if (out.size() < length || length > kMaxDatagramBytes) return 0;
  const wire::MutableBytes header = out.first(packet.header_bytes);
  const wire::MutableBytes pad = out.first(packet.size()).last(packet.pad_bytes);
  std::memcpy(header.data(), packet.header.data(), header.size());
  std::memset(pad.data(), 0, pad.size());
  const Flow flow = outgoing(path);
  const IpHeaders headers = ip_headers(flow, ip_id, length);
  std::uint32_t icrc = wire::icrc(icrc_kind(flow), headers.span(), header);
  for (std::size_t i = 0; i < packet.payload_parts; ++i) {
    icrc = wire::icrc_continued(icrc, packet.payload[i]);
  }
  wire::store_icrc(out.data() + packet.size(), wire::icrc_continued(icrc, pad));
  return length;
}

void frame_again(const Path& path, std::uint16_t ip_id, wire::MutableBytes datagram) {
  const wire::Bytes covered = covered_of(datagram);
  wire::store_icrc(datagram.data() + covered.size(), icrc_along(outgoing(path), ip_id, covered));
}

IcrcCheck check_icrc(const Path& path, wire::Bytes datagram, std::optional<std::uint16_t> ip_id) {
  std::uint16_t id = ip_id.value_or(0);
  if (!ip_id && !path.remote.ipv6) return check_icrc_likely(path, datagram, id);
  if (!can_be_checked(datagram)) return IcrcCheck::kBad;
  const std::uint32_t right = icrc_along(incoming(path), id, covered_of(datagram));
  return right == icrc_of(datagram) ? IcrcCheck::kGood : IcrcCheck::kBad;
}

IcrcCheck check_icrc_likely(const Path& path, wire::Bytes datagram, std::uint16_t& ip_id) {
  if (!can_be_checked(datagram)) return IcrcCheck::kBad;
  const wire::Bytes covered = covered_of(datagram);
  const std::uint32_t difference = icrc_along(incoming(path), ip_id, covered) ^ icrc_of(datagram);
  if (difference == 0) return IcrcCheck::kGood;
  if (path.remote.ipv6) return IcrcCheck::kBad;
  std::uint16_t found = ip_id;
  switch (explain(difference, covered.size(), found)) {
    case Unknown::kIdentification:
      ip_id = found;
      return found < kMaxBatch ? IcrcCheck::kGood : IcrcCheck::kUnchecked;
    case Unknown::kFlag:
      return IcrcCheck::kUnchecked;
    case Unknown::kNeither:
      break;
  }
  return IcrcCheck::kBad;
}

}  // namespace rpcrdma::soft
