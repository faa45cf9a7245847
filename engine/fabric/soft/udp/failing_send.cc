#include "failing_send.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rpcrdma::soft {
namespace {

FailingSend* current = nullptr;

}  // namespace

FailingSend::FailingSend(std::vector<int> errors) : errors_(std::move(errors)) {
  current = this;
}

FailingSend::~FailingSend() {
  current = nullptr;
}

int FailingSend::next(SendCall call) {
  if (current == nullptr) return 0;
  current->calls_.push_back(call);
  const std::size_t i = current->calls_.size() - 1;
  return i < current->errors_.size() ? current->errors_[i] : 0;
}

}  // namespace rpcrdma::soft

// In a test program these take precedence over the C library's functions.
extern "C" ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                          socklen_t to_length) {
  if (const int error = rpcrdma::soft::FailingSend::next({false, size}); error != 0) {
    errno = error;
    return -1;
  }
  return ::syscall(SYS_sendto, fd, data, size, flags, to, to_length);
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) size += message->msg_iov[i].iov_len;
  if (const int error = rpcrdma::soft::FailingSend::next({true, size}); error != 0) {
    errno = error;
    return -1;
  }
  return ::syscall(SYS_sendmsg, fd, message, flags);
}
