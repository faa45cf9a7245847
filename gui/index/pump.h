// Hands on what comes through a pipe, so that whoever reads it can be let go at any time: a read of
// a pipe that says nothing more cannot be broken off.
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

  // Gives the end to read from. `from`: need not block. Errors: the system has no descriptor left.
  [[nodiscard]] capture::Expected<base::FileDescriptor> start(base::FileDescriptor from);
  // Nothing more is handed on: who reads finds the end.
  void stop();

 private:
  void run();

  base::FileDescriptor from_, to_;
  base::Wakeup wakeup_;
  std::thread thread_;
};

}  // namespace rpcrdma::index
