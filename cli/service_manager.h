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
  // The one that NOTIFY_SOCKET names; nobody if it is not set. An error if that is neither an
  // absolute path nor '@' and the name of an abstract socket (unix(7)), or is too long.
  [[nodiscard]] static capture::Expected<ServiceManager> from_environment();

  // Once the service answers; `status` is a line for people. Nobody's answer is waited for, and a
  // full socket for a second at most.
  [[nodiscard]] capture::Expected<void> ready(std::string_view status) const;
  // When the service begins to end.
  [[nodiscard]] capture::Expected<void> stopping() const;

 private:
  [[nodiscard]] capture::Expected<void> send(const std::string& lines) const;

  base::FileDescriptor socket_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
};

}  // namespace rpcrdma::cli
