// Wakes a thread that polls descriptors.
#pragma once

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::base {

// An eventfd. Without create() it has no descriptor: notify() does nothing, and poll() ignores
// fd().
class Wakeup {
 public:
  // Error: the system has no free descriptor.
  [[nodiscard]] static Expected<Wakeup> create();

  // Makes fd() readable until clear(). Can be called from any thread and from signal handlers.
  void notify() const noexcept;
  void clear() const noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace rpcrdma::base
