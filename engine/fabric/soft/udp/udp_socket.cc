// Opens and configures the UDP socket of a provider, and connects its sending and receiving sides.
#include "port_share.h"
#include "udp_receive.h"
#include "udp_send.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <linux/filter.h>
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

// Returns what the kernel has granted, which is twice what was requested, or less.
std::size_t granted_buffer(int fd) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  if (::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) != 0 || bytes < 0) return 0;
  return static_cast<std::size_t>(bytes);
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

// Of the sockets that share the port, the first one receives everything (PortShare).
bool let_first_receive(int fd) {
  std::array<sock_filter, 1> first{{BPF_STMT(BPF_RET | BPF_K, 0)}};
  const sock_fprog program{static_cast<unsigned short>(first.size()), first.data()};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0;
}

std::string why_not_bound(const fabric::Address& local, int error) {
  switch (error) {
    case EADDRINUSE:
      return fmt::format(
          "UDP port {} of {} is in use by another user's endpoint or by the kernel's rdma_rxe",
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
      : descriptor(fd), shared{fd, local, nullptr, {}, {}, nullptr} {}

  base::FileDescriptor descriptor;
  std::size_t receive_buffer = 0;
  std::unique_ptr<PortShare> port;
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
  state->receive_buffer = granted_buffer(fd);
  // A kernel that does not know an option ignores it. Without UDP_SEGMENT, a batch would be sent as
  // one datagram.
  set(fd, IPPROTO_UDP, UDP_GRO, 1);
  const bool joins = !options.exact && set(fd, IPPROTO_UDP, UDP_SEGMENT, 0);
  const fabric::SocketAddress address = to_socket_address(local, wire::kRoceUdpPort);
  auto port = PortShare::claim(local);
  if (!port) return tl::unexpected(port.error());
  set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (::bind(fd, &address.any, length_of(address)) != 0) {
    return fail(Errc::kSystem, why_not_bound(local, errno));
  }
  // A kernel that would spread the packets over the sockets gets no second one.
  if (!let_first_receive(fd)) set(fd, SOL_SOCKET, SO_REUSEPORT, 0);
  (*port)->bound();
  state->port = std::move(*port);
  state->shared.port = state->port.get();
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

std::size_t UdpSocket::receive_buffer() const {
  return state_->receive_buffer;
}

std::uint8_t UdpSocket::share() const {
  return state_->port->share();
}

fabric::Expected<void> UdpSocket::claim_port(std::uint16_t port) {
  return state_->port->claim_port(port);
}

void UdpSocket::release_port(std::uint16_t port) {
  state_->port->release_port(port);
}

std::vector<int> UdpSocket::more_fds() const {
  return state_->port->descriptors();
}

bool UdpSocket::begin_receive() {
  const bool received = state_->ring.fill();
  return state_->ring.fill_forwarded() || received;
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
