// Wakes a thread that polls descriptors.
#pragma once

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::base {

// An eventfd. Without create() it holds none: notify() does nothing, and poll() ignores its fd().
class Wakeup {
 public:
  // Error: the system has no descriptor left.
  [[nodiscard]] static Expected<Wakeup> create();

  // Makes fd() readable until clear(). From any thread, or from a signal handler.
  void notify() const noexcept;
  void clear() const noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace rpcrdma::base
