// Copies a pipe into another one, so that its reader can be released at any time: a read of a pipe
// whose writer stays silent cannot be interrupted.
#pragma once

#include <thread>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/capture/error.h>

namespace rpcrdma::index {

class Pump {
 public:
  Pump() = default;
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Returns the end to read from. `from` may be blocking or not. Errors: no descriptors left.
  [[nodiscard]] capture::Expected<base::FileDescriptor> start(base::FileDescriptor from);
  // Stops copying: the reader sees the end of the pipe.
  void stop();

 private:
  void run();

  base::FileDescriptor from_, to_;
  base::Wakeup wakeup_;
  std::thread thread_;
};

}  // namespace rpcrdma::index
