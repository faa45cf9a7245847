// Listens on any address, and on port 0.
#include "listen.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace rpcrdma::metrics {

using base::FileDescriptor;
using fabric::Errc;
using fabric::Expected;

namespace {

// A scraper in a burst of connections is not left to TCP, which tries again after a second.
constexpr int kBacklog = 512;

// Returns a listening socket, or errno.
tl::expected<FileDescriptor, int> listen_at(const addrinfo& at) {
  FileDescriptor fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1, no = 0;
  if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    return tl::unexpected(errno);
  }
  // All addresses of IPv6 include those of IPv4, whatever the system's default is.
  if (at.ai_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return tl::unexpected(errno);
  }
  return fd;
}

}  // namespace

Expected<FileDescriptor> listen_on(const std::string& host, std::uint16_t port) {
  const std::string name = host.empty() ? "::" : host;
  const std::string service = fmt::format("{}", port);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), service.c_str(), &hints, &found); error != 0) {
    return fabric::fail(Errc::kSystem, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    auto fd = listen_at(*at);
    if (fd) return std::move(*fd);
    error = fd.error();
  }
  // A kernel without IPv6.
  if (host.empty() && error != EADDRINUSE) return listen_on("0.0.0.0", port);
  return fabric::fail(Errc::kSystem, std::strerror(error));
}

std::string address_of(int fd) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const any = reinterpret_cast<sockaddr*>(&own);
  if (::getsockname(fd, any, &length) != 0 ||
      ::getnameinfo(any, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return own.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port.data())
                                   : fmt::format("{}:{}", host.data(), port.data());
}

}  // namespace rpcrdma::metrics
