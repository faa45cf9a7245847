// Collects packets in a buffer and sends them as one batch, or singly if the kernel refuses
// batches. A payload that is gathered has a gap in the buffer, so that it can still be copied
// there.
#include "udp_send.h"

#include "ip_headers.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <netinet/udp.h>

#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// For a shorter payload, the kernel's walk over more pieces costs as much as the copy.
constexpr std::size_t kGathered = 1024;

bool is_gathered(const OutPacket& packet) {
  return packet.payload_stays && packet.payload_parts == 1 && packet.payload_bytes >= kGathered;
}

}  // namespace

SendBatch::SendBatch(UdpShared& shared, bool joined)
    : shared_(shared),
      most_(joined ? kMaxBatch : 1),
      path_{shared.local, shared.local, wire::kRoceUdpPort},
      to_(to_socket_address(shared.local, wire::kRoceUdpPort)),
      buffer_(std::make_unique<std::uint8_t[]>(kMaxDatagramBytes)) {}

bool SendBatch::fits(const OutPacket& packet, std::size_t length) const {
  return datagrams_ < most_ && !joining_refused_ && length <= each_ &&
         bytes_ == datagrams_ * each_ && bytes_ + length <= kMaxDatagramBytes &&
         packet.path->remote == path_.remote;
}

void SendBatch::begin(const Path& path, std::size_t length) {
  if (path.remote != path_.remote) {
    path_.remote = path.remote;
    to_ = to_socket_address(path_.remote, wire::kRoceUdpPort);
  }
  each_ = length;
  joining_refused_ = false;
}

bool SendBatch::add(const OutPacket& packet) {
  const std::size_t length = packet.size() + wire::kIcrcBytes;
  if (length > kMaxDatagramBytes || packet.path->remote.ipv6 != shared_.local.ipv6) {
    refused(length > kMaxDatagramBytes ? EMSGSIZE : EAFNOSUPPORT, 1);
    return true;
  }
  if (datagrams_ == 0) {
    begin(*packet.path, length);
  } else if (!fits(packet, length)) {
    if (!flush()) return false;
    begin(*packet.path, length);
  }
  const wire::MutableBytes place(buffer_.get() + bytes_, length);
  const auto ip_id = static_cast<std::uint16_t>(datagrams_);
  if (is_gathered(packet) && !shared_.watched()) {
    gaps_[gap_count_++] = {bytes_ + packet.header_bytes, packet.payload[0]};
    bytes_ += frame_around(packet, path_, ip_id, place);
  } else {
    bytes_ += frame(packet, path_, ip_id, place);
  }
  ++datagrams_;
  return true;
}

bool SendBatch::add_framed(const Path& path, wire::Bytes datagram) {
  if (datagram.size() > kMaxDatagramBytes || path.remote.ipv6 != shared_.local.ipv6) {
    refused(datagram.size() > kMaxDatagramBytes ? EMSGSIZE : EAFNOSUPPORT, 1);
    return true;
  }
  if (!flush()) return false;
  begin(path, datagram.size());
  std::memcpy(buffer_.get(), datagram.data(), datagram.size());
  bytes_ = datagram.size();
  datagrams_ = 1;
  // This packet needs a batch of its own. If it cannot be sent now, it waits, and counts as
  // accepted.
  (void)flush();
  return true;
}

bool SendBatch::flush() {
  if (datagrams_ == 0) return true;
  const bool at_once = datagrams_ > 1 || gap_count_ != 0;
  const bool gone = at_once && !joining_refused_ ? send_joined() : send_singly();
  if (gone) datagrams_ = bytes_ = gone_ = 0;
  return gone;
}

int SendBatch::send_gathered() {
  std::array<iovec, 2 * kMaxBatch + 1> pieces;
  std::size_t count = 0;
  std::size_t at = 0;
  for (const Gap& gap : std::span(gaps_).first(gap_count_)) {
    pieces[count++] = {buffer_.get() + at, gap.offset - at};
    // The kernel only reads.
    pieces[count++] = {const_cast<std::uint8_t*>(gap.payload.data()),  // NOLINT
                       gap.payload.size()};
    at = gap.offset + gap.payload.size();
  }
  pieces[count++] = {buffer_.get() + at, bytes_ - at};
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(std::uint16_t))> control;
  msghdr message{};
  message.msg_name = &to_;
  message.msg_namelen = length_of(to_);
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  if (datagrams_ > 1) {
    control = {};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto each = static_cast<std::uint16_t>(each_);
    std::memcpy(CMSG_DATA(header), &each, sizeof each);
  }
  return ::sendmsg(shared_.fd, &message, 0) < 0 ? errno : 0;
}

bool SendBatch::send_joined() {
  const int error = send_gathered();
  if (would_block(error)) {
    copy_gaps();  // the payloads may be gone when it is tried again
    return false;
  }
  // Batches are unsupported here: an old kernel, or a device without checksum offload. EINVAL may
  // also mean that the datagrams are too long for the link; then they are refused singly as well.
  if (datagrams_ > 1 && (error == EINVAL || error == EIO)) {
    copy_gaps();
    number_singly();
    return send_singly();
  }
  if (shared_.watched()) copy_gaps();
  gap_count_ = 0;
  if (error != 0) {
    refused(error, datagrams_);
    return true;
  }
  ++shared_.counters.sent_batches;
  shared_.counters.sent_packets += datagrams_;
  shared_.counters.sent_bytes += bytes_;
  if (shared_.watched()) {
    for (std::size_t i = 0; i < datagrams_; ++i) log_sent(i * each_, static_cast<std::uint16_t>(i));
  }
  return true;
}

void SendBatch::copy_gaps() {
  for (const Gap& gap : std::span(gaps_).first(gap_count_)) {
    std::memcpy(buffer_.get() + gap.offset, gap.payload.data(), gap.payload.size());
  }
  gap_count_ = 0;
}

bool SendBatch::send_singly() {
  while (gone_ < bytes_) {
    const wire::Bytes next = datagram(gone_);
    if (::sendto(shared_.fd, next.data(), next.size(), 0, &to_.any, length_of(to_)) < 0) {
      if (would_block(errno)) return false;
      refused(errno, 1);
    } else {
      if (joining_refused_) most_ = 1;
      ++shared_.counters.sent_batches;
      ++shared_.counters.sent_packets;
      shared_.counters.sent_bytes += next.size();
      if (shared_.watched()) log_sent(gone_, 0);
    }
    gone_ += next.size();
  }
  return true;
}

// The batch is sent as single datagrams, so its identifications must be 0.
void SendBatch::number_singly() {
  joining_refused_ = true;
  for (std::size_t offset = each_; offset < bytes_; offset += each_) {
    frame_again(path_, 0, datagram(offset));
  }
}

wire::MutableBytes SendBatch::datagram(std::size_t offset) const {
  return {buffer_.get() + offset, std::min(each_, bytes_ - offset)};
}

void SendBatch::refused(int error, std::size_t packets) {
  shared_.counters.refused += packets;
  shared_.counters.last_error = error;
}

void SendBatch::log_sent(std::size_t offset, std::uint16_t ip_id) {
  shared_.show_sent(path_, ip_id, datagram(offset));
}

}  // namespace rpcrdma::soft
