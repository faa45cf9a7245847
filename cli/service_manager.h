// Notifies the service manager that started this process of its state, by the protocol of
// sd_notify(3): datagrams of VARIABLE=VALUE lines to the Unix socket that NOTIFY_SOCKET names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/error.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::cli {

class ServiceManager {
 public:
  // Connects to the socket that NOTIFY_SOCKET names; notifies nobody if it is not set. Fails if it
  // is neither an absolute path nor '@' and the name of an abstract socket (unix(7)), or is too
  // long; or if WATCHDOG_USEC is no time.
  [[nodiscard]] static capture::Expected<ServiceManager> from_environment();

  // Returns whether there is a service manager.
  [[nodiscard]] bool listens() const { return socket_.get() >= 0; }

  // Call once the service answers; `status` is a line for people. Does not wait for an answer, and
  // waits at most a second for a full socket.
  [[nodiscard]] capture::Expected<void> ready(std::string_view status) const;
  // Call before the configuration is read again, and ready() after that.
  [[nodiscard]] capture::Expected<void> reloading() const;
  // Replaces the line for people.
  [[nodiscard]] capture::Expected<void> status(std::string_view text) const;
  // Call at least twice in the time after which the manager takes the service for hung: it is
  // WATCHDOG_USEC, if WATCHDOG_PID is this process or not set. Nothing: it never does.
  [[nodiscard]] std::optional<fabric::Time> watchdog() const { return watchdog_; }
  [[nodiscard]] capture::Expected<void> alive() const;
  // Call when the service starts to shut down; `status`: what it does until then.
  [[nodiscard]] capture::Expected<void> stopping(
      std::string_view status = "closing connections") const;

 private:
  [[nodiscard]] capture::Expected<void> send(const std::string& lines) const;

  base::FileDescriptor socket_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
  std::optional<fabric::Time> watchdog_;
};

}  // namespace rpcrdma::cli
