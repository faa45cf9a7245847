// write() until all is written.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <unistd.h>

namespace rpcrdma::base {

struct Written {
  std::size_t bytes = 0;
  int error = 0;  // errno; 0: all is written
};

[[nodiscard]] inline Written write_all(int fd, std::span<const std::uint8_t> bytes) {
  Written done;
  while (done.bytes < bytes.size() && done.error == 0) {
    const ssize_t n = ::write(fd, bytes.data() + done.bytes, bytes.size() - done.bytes);
    if (n > 0) {
      done.bytes += static_cast<std::size_t>(n);
    } else if (n == 0) {
      done.error = ENOSPC;
    } else if (errno != EINTR) {
      done.error = errno;
    }
  }
  return done;
}

[[nodiscard]] inline Written write_all(int fd, std::string_view text) {
  return write_all(fd, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Returns what of earlier writes fails only now, as on NFS, which reports it when a descriptor is
// closed: an errno, or 0. The descriptor stays open.
[[nodiscard]] inline int late_write_error(int fd) {
  const int copy = ::dup(fd);
  return copy < 0 || ::close(copy) == 0 ? 0 : errno;
}

}  // namespace rpcrdma::base
