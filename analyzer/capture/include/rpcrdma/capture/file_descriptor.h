// A file descriptor that closes itself.
#pragma once

#include <utility>

#include <unistd.h>

namespace rpcrdma::capture {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    const int fd = other.release();
    close();
    fd_ = fd;
    return *this;
  }
  ~FileDescriptor() { close(); }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // It is the caller's now.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace rpcrdma::capture
