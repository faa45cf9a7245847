// Whose turn was it while Calls were outstanding: the responder's, or the network's?
#pragma once

#include "covered.h"

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The responder's turn is what is left of the time from Call to Reply without its RDMA operations
// and without the way: how long a packet takes there and back shows in the acknowledgement of the
// Call, which the responder's adapter sends by itself as soon as the Call has come. Captured near
// the responder that is next to nothing, and near the requester all of the network's share; where
// no acknowledgement tells, the way counts as the responder's.
class Turns {
 public:
  void note(const model::Message& m);  // Calls and their answers, of the forward direction
  void answered(const model::Call& call, const model::Message& reply);
  // A side did from `from` on, until it sent packets again. Gives for how much of that a Call was
  // outstanding and the other side had not stood still as well.
  std::int64_t stood_still(std::int64_t from, std::int64_t until);
  // A side did because the other had no Receive for it.
  void waited_for_receive(std::int64_t from, std::int64_t until);
  // When the connection closes. `stalled`: what stood_still() gave.
  void tell(Findings& findings, const roce::Connection& connection, int client,
            std::int64_t stalled) const;

 private:
  std::int64_t add_busy(Covered& covered, std::int64_t from, std::int64_t until) const;
  void tell_long_way(Findings& findings, Evidence e) const;

  std::uint64_t replies_ = 0;
  std::int64_t latency_ = 0;  // sums over all Calls, nanoseconds
  std::int64_t data_ = 0;
  std::int64_t way_ = 0;          // Calls there and their acknowledgements back
  std::int64_t busy_ = 0;         // some Call was outstanding
  std::int64_t busy_since_ = -1;  // -1: none is
  std::int64_t was_busy_since_ = 0, was_busy_until_ = 0;  // before that
  std::int64_t no_receive_ = 0;                           // Calls were outstanding meanwhile
  Covered stalls_, receive_waits_;
  std::int64_t slowest_ = 0;
  std::uint64_t slowest_frame_ = 0;
};

}  // namespace rpcrdma::rules
