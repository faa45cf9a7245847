#include "service_manager.h"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::cli {

namespace {

using capture::fail;

constexpr timeval kLongest{.tv_sec = 1, .tv_usec = 0};

capture::Expected<std::optional<fabric::Time>> watchdog_of_environment() {
  constexpr std::uint32_t kDay = 24U * 60 * 60;
  const char* const time = std::getenv("WATCHDOG_USEC");
  if (time == nullptr) return std::nullopt;
  const char* const process = std::getenv("WATCHDOG_PID");
  if (process != nullptr && process != fmt::format("{}", ::getpid())) return std::nullopt;
  const std::string_view text(time);
  std::uint64_t microseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), microseconds);
  if (error != std::errc() || end != text.data() + text.size() || microseconds == 0 ||
      microseconds > std::uint64_t{kDay} * 1'000'000) {
    return fail("WATCHDOG_USEC: not a time of at most a day");
  }
  return static_cast<fabric::Time>(microseconds) * fabric::kMicrosecond;
}

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
  auto watchdog = watchdog_of_environment();
  if (!watchdog) return tl::unexpected(watchdog.error());
  manager.watchdog_ = *watchdog;
  return manager;
}

namespace {

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // a newline would start another variable
  }
  return line;
}

}  // namespace

capture::Expected<void> ServiceManager::ready(std::string_view status) const {
  return send(fmt::format("READY=1\nSTATUS={}", one_line(status)));
}

capture::Expected<void> ServiceManager::reloading() const {
  return send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reading the configuration",
                          base::monotonic_ns() / fabric::kMicrosecond));
}

capture::Expected<void> ServiceManager::status(std::string_view text) const {
  return send(fmt::format("STATUS={}", one_line(text)));
}

capture::Expected<void> ServiceManager::alive() const {
  return send("WATCHDOG=1");
}

capture::Expected<void> ServiceManager::stopping(std::string_view status) const {
  return send(fmt::format("STOPPING=1\nSTATUS={}", one_line(status)));
}

capture::Expected<void> ServiceManager::send(const std::string& lines) const {
  if (socket_.get() < 0) return {};
  const auto* const to = reinterpret_cast<const sockaddr*>(&address_);
  if (::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL, to, length_) >= 0)
    return {};
  return fail(fmt::format("NOTIFY_SOCKET: {}", std::strerror(errno)));
}

}  // namespace rpcrdma::cli
