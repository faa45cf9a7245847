#include "udp_receive.h"

#include "port_share.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/udp.h>

#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

// Returns the size of each datagram that the kernel coalesced; nothing for a single one.
std::optional<std::size_t> joined_size(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int size = 0;
    std::memcpy(&size, CMSG_DATA(c), sizeof size);
    if (size > 0) return static_cast<std::size_t>(size);
  }
  return std::nullopt;
}

}  // namespace

ReceiveRing::ReceiveRing(UdpShared& shared)
    : shared_(shared), memory_(std::make_unique<std::uint8_t[]>(kBuffers * kBufferBytes)) {
  for (std::size_t i = 0; i < kBuffers; ++i) {
    contents_[i] = {memory_.get() + i * kBufferBytes, kBufferBytes};
    msghdr& message = messages_[i].msg_hdr;
    message.msg_iov = &contents_[i];
    message.msg_iovlen = 1;
    message.msg_name = &names_[i];
    message.msg_control = &controls_[i];
    prepare(i);
  }
}

// The kernel has overwritten these lengths.
void ReceiveRing::prepare(std::size_t buffer) {
  messages_[buffer].msg_hdr.msg_namelen = sizeof names_[buffer];
  messages_[buffer].msg_hdr.msg_controllen = sizeof controls_[buffer];
}

int ReceiveRing::call() {
  // Asking for several buffers costs the kernel one extra look if messages arrive one at a time.
  constexpr unsigned kStream = 4;
  if (in_a_row_ >= kStream) return ::recvmmsg(shared_.fd, messages_.data(), kBuffers, 0, nullptr);
  const ssize_t bytes = ::recvmsg(shared_.fd, &messages_[0].msg_hdr, 0);
  if (bytes < 0) return -1;
  messages_[0].msg_len = static_cast<unsigned>(bytes);
  return 1;
}

bool ReceiveRing::fill() {
  for (std::size_t i = 0; i < filled_; ++i) prepare(i);
  filled_ = at_ = 0;
  rest_ = {};
  const int n = call();
  if (n < 0) {
    in_a_row_ = 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    ++shared_.counters.errors;
    shared_.counters.last_error = errno;
    return true;
  }
  filled_ = static_cast<std::size_t>(n);
  ++in_a_row_;
  return true;
}

bool ReceiveRing::fill_forwarded() {
  return shared_.port != nullptr && shared_.port->fill();
}

bool ReceiveRing::next(InPacket& packet) {
  for (;;) {
    while (!rest_.empty()) {
      const wire::Bytes datagram = rest_.first(std::min(each_, rest_.size()));
      rest_ = rest_.subspan(datagram.size());
      if (shared_.port != nullptr && datagram.size() >= wire::kBthBytes + wire::kIcrcBytes &&
          shared_.port->forward(path_, likely_ip_id_, datagram, shared_.counters)) {
        ++likely_ip_id_;
        continue;
      }
      if (take(datagram, packet)) return true;
    }
    do {
      if (at_ == filled_) return next_forwarded(packet);
    } while (!open());
  }
}

bool ReceiveRing::next_forwarded(InPacket& packet) {
  if (shared_.port == nullptr) return false;
  shared_.port->flush(shared_.counters);
  PortShare::Forwarded forwarded;
  while (shared_.port->next(forwarded)) {
    path_ = forwarded.path;
    likely_ip_id_ = forwarded.ip_id;
    if (take(forwarded.datagram, packet)) return true;
  }
  return false;
}

bool ReceiveRing::open() {
  msghdr& message = messages_[at_].msg_hdr;
  const std::size_t bytes = messages_[at_].msg_len;
  const std::optional<fabric::Endpoint> from = to_endpoint(names_[at_]);
  const auto* const content = static_cast<const std::uint8_t*>(contents_[at_].iov_base);
  ++at_;
  ++shared_.counters.received_batches;
  if (bytes == 0 || (message.msg_flags & MSG_TRUNC) != 0 || !from) {
    ++shared_.counters.too_short;
    return false;
  }
  path_ = {shared_.local, from->address, from->port};
  rest_ = {content, bytes};
  each_ = joined_size(message).value_or(bytes);
  likely_ip_id_ = 0;
  return true;
}

// Returns false if the datagram contains no usable packet.
bool ReceiveRing::take(wire::Bytes datagram, InPacket& packet) {
  UdpCounters& counters = shared_.counters;
  if (datagram.size() < wire::kBthBytes + wire::kIcrcBytes) {
    ++counters.too_short;
    return false;
  }
  ++counters.received_packets;
  counters.received_bytes += datagram.size();
  packet.path = &path_;
  packet.bytes = datagram.first(datagram.size() - wire::kIcrcBytes);
  packet.icrc = check_icrc_likely(path_, datagram, likely_ip_id_);
  if (shared_.watched()) shared_.show_received(path_, likely_ip_id_, datagram);
  ++likely_ip_id_;
  switch (packet.icrc) {
    case IcrcCheck::kGood:
      ++counters.icrc_good;
      return true;
    case IcrcCheck::kUnchecked:
      ++counters.icrc_unchecked;
      return true;
    case IcrcCheck::kBad:
      break;
  }
  ++counters.icrc_bad;
  return false;
}

}  // namespace rpcrdma::soft
