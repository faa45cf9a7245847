// Whose turn was it while Calls were outstanding: the responder's, or the network's?
#pragma once

#include "covered.h"
#include "sums.h"

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The responder's turn is what is left of the time from Call to Reply without its RDMA operations
// and without the way: how long a packet takes there and back shows in the acknowledgement of the
// Call, which the responder's adapter sends by itself as soon as the Call has come. Captured near
// the responder that is next to nothing, and near the requester all of the network's share; where
// no acknowledgement tells, the way counts as the responder's.
class LatencyAttribution {
 public:
  void note(const model::Message& m);  // Calls and their answers, of the forward direction
  void answered(const model::Call& call, const model::Message& reply);
  // A side did from `from` on, until it sent packets again. Gives for how much of that a Call was
  // outstanding and the other side had not stood still as well.
  std::int64_t stood_still(std::int64_t from, std::int64_t until);
  // A side did because the other had no Receive for it.
  void waited_for_receive(std::int64_t from, std::int64_t until);
  // `stalled`: what stood_still() gave.
  [[nodiscard]] LatencySums sums(std::int64_t now_ns, std::int64_t stalled) const;

  enum class Slow : std::uint8_t {
    kNo,
    kStalls,   // the network, which lost packets
    kLongWay,  // the network, which lost none
    kPeer,     // the responder
  };
  [[nodiscard]] static Slow judge(const LatencySums& sums);
  // Of what was added to the sums; evidence as to its course and time.
  void report(Findings& findings, const roce::Connection& connection, int client, Slow slow,
              const LatencySums& sums, Evidence e) const;
  // When the connection closes, and nothing but the sum of its life is slow: that the network may
  // have been, where an endpoint does not tell.
  void report_unknown_stalls(Findings& findings, const roce::Connection& connection) const;

 private:
  std::int64_t add_busy(Covered& covered, std::int64_t from, std::int64_t until) const;
  static void report_long_path(Findings& findings, const LatencySums& sums, Evidence e);
  void report_peer(Findings& findings, const roce::Connection& connection, int client,
                   const LatencySums& sums, Evidence e) const;

  LatencySums sums_;              // `busy` until busy_since_, and not `stalled`
  std::int64_t busy_since_ = -1;  // -1: no Call is outstanding
  std::int64_t was_busy_since_ = 0, was_busy_until_ = 0;  // before that
  Covered stalls_, receive_waits_;
  std::int64_t slowest_ = 0;
  std::uint64_t slowest_frame_ = 0;
};

}  // namespace rpcrdma::rules
