// Opens and configures the UDP socket of a provider, and connects its sending and receiving sides.
#include "udp_receive.h"
#include "udp_send.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <netinet/udp.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/soft/udp_socket.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using fabric::Errc;
using fabric::fail;

bool set(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// The option that may exceed the system's limit needs privileges.
void set_buffer(int fd, int forced, int limited, int bytes) {
  if (!set(fd, SOL_SOCKET, forced, bytes)) set(fd, SOL_SOCKET, limited, bytes);
}

// A fragmented datagram would have another identification, and RoCEv2 does not allow fragments.
bool never_fragment(int fd, bool ipv6) {
  return ipv6 ? set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
                    set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)
              : set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
}

// Linux's rxe and hardware adapters send a UDP checksum of 0, since the ICRC covers more. Over IPv6
// the kernel would drop such datagrams.
bool take_without_checksum(int fd, bool ipv6) {
  return !ipv6 || set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

std::string why_not_bound(const fabric::Address& local, int error) {
  switch (error) {
    case EADDRINUSE:
      return fmt::format(
          "UDP port {} of {} is in use by another endpoint or by the kernel's rdma_rxe",
          wire::kRoceUdpPort, local.to_string());
    case EADDRNOTAVAIL:
      return fmt::format("{} is not an address of this machine", local.to_string());
    default:
      return fmt::format("UDP port {} of {} cannot be used: {}", wire::kRoceUdpPort,
                         local.to_string(), std::strerror(error));
  }
}

bool unspecified(const fabric::Address& address) {
  return address.bytes == decltype(address.bytes){};
}

}  // namespace

struct UdpSocket::State {
  State(int fd, const fabric::Address& local)
      : descriptor(fd), shared{fd, local, nullptr, {}, {}} {}

  base::FileDescriptor descriptor;
  UdpShared shared;
  std::optional<SendBatch> batch;
  ReceiveRing ring{shared};
};

UdpSocket::UdpSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
UdpSocket::~UdpSocket() = default;
UdpSocket::UdpSocket(UdpSocket&&) noexcept = default;
UdpSocket& UdpSocket::operator=(UdpSocket&&) noexcept = default;

fabric::Expected<UdpSocket> UdpSocket::open(const fabric::Address& local,
                                            const UdpOptions& options) {
  if (unspecified(local)) {
    return fail(Errc::kBadArgument,
                fmt::format("{} is not an interface's address, which the ICRC requires",
                            local.to_string()));
  }
  const int fd =
      ::socket(local.ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return fail(Errc::kSystem,
                fmt::format("no UDP socket for {}: {}", local.to_string(), std::strerror(errno)));
  }
  auto state = std::make_unique<State>(fd, local);
  if (!never_fragment(fd, local.ipv6)) {
    return fail(Errc::kSystem, fmt::format("don't-fragment cannot be set for {}: {}",
                                           local.to_string(), std::strerror(errno)));
  }
  if (!take_without_checksum(fd, local.ipv6)) {
    return fail(Errc::kSystem,
                fmt::format("datagrams without a UDP checksum cannot be received at {}: {}",
                            local.to_string(), std::strerror(errno)));
  }
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
  // A kernel that does not know an option ignores it. Without UDP_SEGMENT, a batch would be sent as
  // one datagram.
  set(fd, IPPROTO_UDP, UDP_GRO, 1);
  const bool joins = !options.exact && set(fd, IPPROTO_UDP, UDP_SEGMENT, 0);
  const fabric::SocketAddress address = to_socket_address(local, wire::kRoceUdpPort);
  if (::bind(fd, &address.any, length_of(address)) != 0) {
    return fail(Errc::kSystem, why_not_bound(local, errno));
  }
  state->batch.emplace(state->shared, joins);
  return UdpSocket(std::move(state));
}

int UdpSocket::fd() const {
  return state_->shared.fd;
}

const fabric::Address& UdpSocket::local() const {
  return state_->shared.local;
}

std::uint16_t UdpSocket::source_port() const {
  return wire::kRoceUdpPort;
}

bool UdpSocket::add(const OutPacket& packet) {
  return state_->batch->add(packet);
}

bool UdpSocket::add_framed(const Path& path, wire::Bytes datagram) {
  return state_->batch->add_framed(path, datagram);
}

bool UdpSocket::flush() {
  return state_->batch->flush();
}

bool UdpSocket::begin_receive() {
  return state_->ring.fill();
}

bool UdpSocket::next(InPacket& packet) {
  return state_->ring.next(packet);
}

void UdpSocket::log_to(PacketLog* log) {
  state_->shared.log = log;
}

void UdpSocket::show_to(trace::PacketTap* tap) {
  state_->shared.live = LivePackets(tap);
}

const UdpCounters& UdpSocket::counters() const {
  return state_->shared.counters;
}

}  // namespace rpcrdma::soft
