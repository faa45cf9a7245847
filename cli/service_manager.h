// Notifies the service manager that started this process of its state, by the protocol of
// sd_notify(3): datagrams of VARIABLE=VALUE lines to the Unix socket that NOTIFY_SOCKET names.
#pragma once

#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/error.h>

namespace rpcrdma::cli {

class ServiceManager {
 public:
  // Connects to the socket that NOTIFY_SOCKET names; notifies nobody if it is not set. Fails if it
  // is neither an absolute path nor '@' and the name of an abstract socket (unix(7)), or is too
  // long.
  [[nodiscard]] static capture::Expected<ServiceManager> from_environment();

  // Call once the service answers; `status` is a line for people. Does not wait for an answer, and
  // waits at most a second for a full socket.
  [[nodiscard]] capture::Expected<void> ready(std::string_view status) const;
  // Call when the service starts to shut down.
  [[nodiscard]] capture::Expected<void> stopping() const;

 private:
  [[nodiscard]] capture::Expected<void> send(const std::string& lines) const;

  base::FileDescriptor socket_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
};

}  // namespace rpcrdma::cli
