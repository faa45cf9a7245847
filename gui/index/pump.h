// Hands on what comes through a pipe, so that whoever reads it can be let go at any time: a read of
// a pipe that says nothing more cannot be broken off.
#pragma once

#include <thread>

#include <rpcrdma/capture/error.h>
#include <rpcrdma/capture/file_descriptor.h>

namespace rpcrdma::index {

class Pump {
 public:
  Pump() = default;
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Gives the end to read from. `from`: need not block. Errors: the system has no descriptor left.
  [[nodiscard]] capture::Expected<capture::FileDescriptor> start(capture::FileDescriptor from);
  // Nothing more is handed on: who reads finds the end.
  void stop();

 private:
  void run();

  capture::FileDescriptor from_, to_, wake_;
  std::thread thread_;
};

}  // namespace rpcrdma::index
