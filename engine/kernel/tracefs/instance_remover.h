// Removes a tracefs instance when its user ends, however it ends: by then the user may have given
// up the privileges that this takes. A child process keeps them, and waits.
#pragma once

#include <string>

#include <sys/types.h>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::kernel {

class InstanceRemover {
 public:
  // Starts the child. Call it while the process has a single thread.
  explicit InstanceRemover(std::string path);
  ~InstanceRemover();
  InstanceRemover(const InstanceRemover&) = delete;
  InstanceRemover& operator=(const InstanceRemover&) = delete;

  // Lets the child remove the instance, and waits for it. All files in it must be closed.
  void remove();

 private:
  std::string path_;
  pid_t child_ = -1;
  base::FileDescriptor alive_;  // closed: the child acts
};

}  // namespace rpcrdma::kernel
