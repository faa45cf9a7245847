// For the tests of this folder: makes sendto() and sendmsg() fail. On loopback a sent datagram is
// the receiver's at once, so send buffers never fill by themselves.
#pragma once

#include <cstddef>
#include <vector>

namespace rpcrdma::soft {

struct SendCall {
  bool joined = false;  // sent by sendmsg
  std::size_t bytes = 0;
};

// While an object exists, calls fail with its errno values in turn; a call with 0, or after the
// last value, reaches the kernel. Only one object may exist at a time.
class FailingSend {
 public:
  explicit FailingSend(std::vector<int> errors);
  ~FailingSend();
  FailingSend(const FailingSend&) = delete;
  FailingSend& operator=(const FailingSend&) = delete;

  [[nodiscard]] const std::vector<SendCall>& calls() const { return calls_; }

  // Returns the errno for a call; 0: pass it to the kernel.
  [[nodiscard]] static int next(SendCall call);

 private:
  std::vector<int> errors_;
  std::vector<SendCall> calls_;
};

}  // namespace rpcrdma::soft
