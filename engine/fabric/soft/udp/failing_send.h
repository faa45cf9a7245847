// For the tests of this folder: lets the kernel's sendto() and sendmsg() refuse. On loopback a
// datagram is its receiver's the moment it is sent, so no send buffer ever fills.
#pragma once

#include <cstddef>
#include <vector>

namespace rpcrdma::soft {

struct SendCall {
  bool joined = false;  // sendmsg
  std::size_t bytes = 0;
};

// While one lives the calls meet errno values in turn: 0 is done by the kernel, as is what comes
// behind the last. One at a time.
class FailingSend {
 public:
  explicit FailingSend(std::vector<int> errors);
  ~FailingSend();
  FailingSend(const FailingSend&) = delete;
  FailingSend& operator=(const FailingSend&) = delete;

  [[nodiscard]] const std::vector<SendCall>& calls() const { return calls_; }

  // The errno for a call, 0: the kernel is to do it.
  [[nodiscard]] static int next(SendCall call);

 private:
  std::vector<int> errors_;
  std::vector<SendCall> calls_;
};

}  // namespace rpcrdma::soft
