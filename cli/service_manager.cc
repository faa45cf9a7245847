#include "service_manager.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/time.h>

namespace rpcrdma::cli {

namespace {

using capture::fail;

constexpr timeval kLongest{.tv_sec = 1, .tv_usec = 0};

}  // namespace

capture::Expected<ServiceManager> ServiceManager::from_environment() {
  ServiceManager manager;
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr) return manager;
  const std::string name(variable);
  const bool abstract = name.starts_with('@');
  if (!abstract && !name.starts_with('/')) {
    return fail("NOTIFY_SOCKET: neither an absolute path nor the name of an abstract socket");
  }
  // A path ends with a zero byte; the name of an abstract socket starts with one, in place of its
  // '@'.
  const std::size_t bytes = name.size() + (abstract ? 0 : 1);
  if (name.size() < 2 || bytes > sizeof manager.address_.sun_path) {
    return fail("NOTIFY_SOCKET: a socket name cannot have this length");
  }
  manager.address_.sun_family = AF_UNIX;
  std::memcpy(manager.address_.sun_path, name.data(), name.size());
  if (abstract) manager.address_.sun_path[0] = '\0';
  manager.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes);
  manager.socket_ = base::FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (manager.socket_.get() < 0 || ::setsockopt(manager.socket_.get(), SOL_SOCKET, SO_SNDTIMEO,
                                                &kLongest, sizeof kLongest) != 0) {
    return fail(fmt::format("NOTIFY_SOCKET: {}", std::strerror(errno)));
  }
  return manager;
}

capture::Expected<void> ServiceManager::ready(std::string_view status) const {
  std::string line(status);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // a newline would start another variable
  }
  return send(fmt::format("READY=1\nSTATUS={}", line));
}

capture::Expected<void> ServiceManager::stopping() const {
  return send("STOPPING=1\nSTATUS=closing connections");
}

capture::Expected<void> ServiceManager::send(const std::string& lines) const {
  if (socket_.get() < 0) return {};
  const auto* const to = reinterpret_cast<const sockaddr*>(&address_);
  if (::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL, to, length_) >= 0)
    return {};
  return fail(fmt::format("NOTIFY_SOCKET: {}", std::strerror(errno)));
}

}  // namespace rpcrdma::cli
