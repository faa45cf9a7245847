// Whose turn was it while Calls were outstanding: the responder's, or the network's?
#pragma once

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class Turns {
 public:
  void note(const model::Message& m);  // Calls and their answers, of the forward direction
  void answered(const model::Call& call, const model::Message& reply);
  // When the connection closes. `stalled`: time that passed before packets were sent again.
  void tell(Findings& findings, const roce::Connection& connection, int client,
            std::int64_t stalled) const;

 private:
  std::uint64_t replies_ = 0;
  std::int64_t latency_ = 0;  // sums over all Calls, nanoseconds
  std::int64_t data_ = 0;
  std::int64_t busy_ = 0;         // some Call was outstanding
  std::int64_t busy_since_ = -1;  // -1: none is
  std::int64_t slowest_ = 0;
  std::uint64_t slowest_frame_ = 0;
};

}  // namespace rpcrdma::rules
