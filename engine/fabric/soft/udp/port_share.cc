#include "port_share.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

using fabric::Errc;
using fabric::fail;

// Of one message, which holds several packets: the kernel queues only a few messages (10 by
// default).
constexpr std::size_t kMessageBytes = 64U << 10;
// Waiting for one endpoint that is too slow; then its packets are dropped.
constexpr std::size_t kMostWaiting = 256U << 10;
constexpr int kSendBuffer = 4 << 20;

// Before each packet in a message, in the byte order of this machine.
struct RecordHeader {
  std::uint32_t bytes;
  std::uint32_t scope;
  std::uint16_t port;
  std::uint16_t ip_id;
  std::uint8_t ipv6;
  std::array<std::uint8_t, 16> remote;
};

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};
// In the abstract namespace, which belongs to the network namespace as IP addresses do, and from
// which a name vanishes with its process.
Name abstract(const std::string& text) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(text.size(), sizeof name.address.sun_path - 1);
  std::memcpy(name.address.sun_path + 1, text.data(), bytes);
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return name;
}

base::FileDescriptor make_socket() {
  return base::FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Any user can send to an abstract name, so each message states its sender.
bool bind_to(const base::FileDescriptor& socket, const std::string& text) {
  const int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  const Name name = abstract(text);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0;
}

bool exists(const std::string& text) {
  const base::FileDescriptor socket = make_socket();
  const Name name = abstract(text);
  return socket.get() >= 0 &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) ==
             0;
}

bool is_own_user(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
    return sender.uid == ::geteuid();
  }
  return false;
}

}  // namespace

std::string PortShare::share_name(std::uint8_t share) const {
  return fmt::format("rpcrdma-scope/roce-1/{}/{}/{}", ::geteuid(), local_.to_string(), share);
}

std::string PortShare::port_name(std::uint16_t port) const {
  return fmt::format("rpcrdma-scope/roce-1/{}/{}/port-{}", ::geteuid(), local_.to_string(), port);
}

fabric::Expected<std::unique_ptr<PortShare>> PortShare::claim(const fabric::Address& local) {
  std::unique_ptr<PortShare> own(new PortShare(local));
  for (std::uint32_t share = 0; share < kShares; ++share) {
    own->names_[share] = own->share_name(static_cast<std::uint8_t>(share));
  }
  for (std::uint32_t share = 0; share < kShares; ++share) {
    base::FileDescriptor socket = make_socket();
    if (socket.get() < 0) {
      return fail(Errc::kSystem, fmt::format("no Unix socket: {}", std::strerror(errno)));
    }
    own->share_ = static_cast<std::uint8_t>(share);
    if (!bind_to(socket, own->names_[share])) {
      if (errno == EADDRINUSE) continue;
      return fail(Errc::kSystem, fmt::format("no Unix socket for {}: {}", local.to_string(),
                                             std::strerror(errno)));
    }
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    own->socket_ = std::move(socket);
    return own;
  }
  return fail(Errc::kSystem,
              fmt::format("{} endpoints use {} already", kShares, local.to_string()));
}

void PortShare::bound() {
  alone_ = true;
  for (std::uint32_t share = 0; share < kShares; ++share) {
    if (share != share_ && exists(names_[share])) alone_ = false;
  }
}

fabric::Expected<void> PortShare::claim_port(std::uint16_t port) {
  base::FileDescriptor socket = make_socket();
  if (socket.get() >= 0 && bind_to(socket, port_name(port))) {
    ports_[port] = std::move(socket);
    return {};
  }
  if (errno == EADDRINUSE) {
    return fail(Errc::kSystem, fmt::format("port {} of {} is served by another endpoint", port,
                                           local_.to_string()));
  }
  return fail(Errc::kSystem,
              fmt::format("no Unix socket for port {}: {}", port, std::strerror(errno)));
}

void PortShare::release_port(std::uint16_t port) {
  ports_.erase(port);
}

const std::string* PortShare::owner_of(std::uint32_t qpn, wire::Bytes datagram) {
  const auto name = [&](std::uint8_t share) { return share == share_ ? nullptr : &names_[share]; };
  if (qpn != wire::kGsiQp) return name(share_of_qpn(qpn));
  constexpr std::size_t kMad = wire::kBthBytes + 8;  // after BTH and DETH
  constexpr std::size_t kCm = kMad + 24;
  if (datagram.size() < kMad + wire::kMadBytes) return nullptr;
  constexpr std::uint16_t kReq = 0x10, kDrep = 0x16;
  const std::uint16_t attribute = wire::load_be16(datagram.data() + kMad + 16);
  if (attribute == kReq) {
    const std::uint16_t port = wire::service_port(wire::load_be64(datagram.data() + kCm + 8));
    if (ports_.contains(port)) return nullptr;
    port_name_ = port_name(port);
    return &port_name_;
  }
  if (attribute > kDrep || attribute < kReq) return nullptr;
  // The receiver's communication ID; 0 in a REJ of a peer that does not know it.
  const std::uint32_t id = wire::load_be32(datagram.data() + kCm + 4);
  return id == 0 ? nullptr : name(share_of_cm_id(id));
}

bool PortShare::forward_other(std::uint32_t qpn, const Path& path, std::uint16_t ip_id,
                              wire::Bytes datagram, UdpCounters& counters) {
  const std::string* const name = owner_of(qpn, datagram);
  if (name == nullptr) return false;
  Waiting& waiting = waiting_[*name];
  const std::size_t bytes = sizeof(RecordHeader) + datagram.size();
  if (!waiting.bytes.empty() && waiting.bytes.size() + bytes > kMessageBytes &&
      !send(*name, waiting, counters)) {
    waiting_.erase(*name);
    return false;
  }
  if (waiting.bytes.size() + bytes > kMostWaiting) {
    ++counters.forward_dropped;
    return true;
  }
  if (!waiting.known && !exists(*name)) {
    waiting_.erase(*name);
    return false;
  }
  waiting.known = true;
  RecordHeader header{};
  header.bytes = static_cast<std::uint32_t>(datagram.size());
  header.scope = path.remote.scope;
  header.port = path.udp_source_port;
  header.ip_id = ip_id;
  header.ipv6 = path.remote.ipv6 ? 1 : 0;
  std::memcpy(header.remote.data(), path.remote.bytes.data(), header.remote.size());
  const auto* const raw = reinterpret_cast<const std::uint8_t*>(&header);
  waiting.bytes.insert(waiting.bytes.end(), raw, raw + sizeof header);
  waiting.bytes.insert(waiting.bytes.end(), datagram.begin(), datagram.end());
  ++waiting.packets;
  return true;
}

bool PortShare::send(const std::string& text, Waiting& waiting, UdpCounters& counters) {
  const Name name = abstract(text);
  // A message ends with a whole packet.
  std::size_t begin = 0;
  while (begin < waiting.bytes.size()) {
    std::size_t end = begin;
    std::uint64_t packets = 0;
    while (end < waiting.bytes.size()) {
      RecordHeader header{};
      std::memcpy(&header, waiting.bytes.data() + end, sizeof header);
      const std::size_t next = end + sizeof header + header.bytes;
      if (end != begin && next - begin > kMessageBytes) break;
      end = next;
      ++packets;
    }
    const ssize_t sent = ::sendto(socket_.get(), waiting.bytes.data() + begin, end - begin, 0,
                                  reinterpret_cast<const sockaddr*>(&name.address), name.length);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) break;
    waiting.packets -= packets;
    if (sent < 0) {
      // It has ended meanwhile, or has no memory.
      counters.forward_dropped += packets + waiting.packets;
      return false;
    }
    counters.forwarded += packets;
    begin = end;
  }
  waiting.bytes.erase(waiting.bytes.begin(),
                      waiting.bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  return true;
}

void PortShare::flush(UdpCounters& counters) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    it = send(it->first, it->second, counters) ? std::next(it) : waiting_.erase(it);
  }
}

std::vector<int> PortShare::descriptors() const {
  std::vector<int> all;
  if (alone_) return all;
  all.push_back(socket_.get());
  for (const auto& [port, socket] : ports_) all.push_back(socket.get());
  return all;
}

bool PortShare::fill() {
  rest_ = {};
  if (alone_) return false;
  if (fill_from(socket_.get())) return true;
  return std::ranges::any_of(ports_, [&](const auto& p) { return fill_from(p.second.get()); });
}

bool PortShare::fill_from(int fd) {
  if (memory_ == nullptr) memory_ = std::make_unique<std::uint8_t[]>(kMessageBytes * 2);
  for (;;) {
    iovec content{memory_.get(), kMessageBytes * 2};
    struct alignas(cmsghdr) {
      std::array<std::uint8_t, CMSG_SPACE(sizeof(ucred))> bytes;
    } control;
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t bytes = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) return false;
    if (!is_own_user(message) || (message.msg_flags & MSG_TRUNC) != 0) continue;
    rest_ = {memory_.get(), static_cast<std::size_t>(bytes)};
    return true;
  }
}

bool PortShare::next(Forwarded& packet) {
  RecordHeader header{};
  if (rest_.size() < sizeof header) return false;
  std::memcpy(&header, rest_.data(), sizeof header);
  rest_ = rest_.subspan(sizeof header);
  if (header.bytes > rest_.size()) {
    rest_ = {};
    return false;
  }
  packet.path.local = local_;
  packet.path.remote = {};
  packet.path.remote.bytes = header.remote;
  packet.path.remote.ipv6 = header.ipv6 != 0;
  packet.path.remote.scope = header.scope;
  packet.path.udp_source_port = header.port;
  packet.ip_id = header.ip_id;
  packet.datagram = rest_.first(header.bytes);
  rest_ = rest_.subspan(header.bytes);
  return true;
}

}  // namespace rpcrdma::soft
