// A file descriptor that closes itself.
#pragma once

#include <utility>

#include <unistd.h>

namespace rpcrdma::capture {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { close(); }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace rpcrdma::capture
