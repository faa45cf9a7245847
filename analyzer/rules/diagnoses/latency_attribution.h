// Attributes the latency of Calls to the responder or to the network.
#pragma once

#include "covered.h"
#include "sums.h"

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The responder's share is the time from Call to Reply minus its RDMA operations and minus the path
// time. The acknowledgment of the Call shows the path time there and back: the responder's adapter
// sends it by itself as soon as the Call arrives. Near the responder the path time is close to
// zero; near the requester it is the whole share of the network. Without an acknowledgment, the
// path time counts as the responder's.
class LatencyAttribution {
 public:
  void note(const model::Message& m);  // Calls and their answers, of the forward direction
  void answered(const model::Call& call, const model::Message& reply);
  // A side stalled from `from` until it retransmitted packets. Returns for how much of that time a
  // Call was in flight and the other side had not stalled as well.
  std::int64_t stood_still(std::int64_t from, std::int64_t until);
  // A side stalled because the other had no Receive posted for it.
  void waited_for_receive(std::int64_t from, std::int64_t until);
  // `paused`: whether pause frames were seen; it outlives this object.
  void watch_pauses(const bool& paused) { paused_ = &paused; }
  // `stalled`: the sum of the results of stood_still().
  [[nodiscard]] LatencySums sums(std::int64_t now_ns, std::int64_t stalled) const;

  enum class Slow : std::uint8_t {
    kNo,
    kStalls,   // the network, which lost packets
    kLongWay,  // the network, which lost none
    kPeer,     // the responder
  };
  [[nodiscard]] static Slow judge(const LatencySums& sums);
  // Reports on the sums that were added; `e` has the phase and span.
  void report(Findings& findings, const roce::Connection& connection, int client, Slow slow,
              const LatencySums& sums, Evidence e) const;
  // Called when the connection closes: adds an inconclusive SLOW-NETWORK if packets were lost and
  // the endpoint does not report for how long a side stalled.
  void report_unknown_stalls(Findings& findings, const roce::Connection& connection) const;

 private:
  std::int64_t add_busy(Covered& covered, std::int64_t from, std::int64_t until) const;
  [[nodiscard]] const char* congestion(const roce::Connection& connection) const;
  void report_long_path(Findings& findings, const LatencySums& sums, Evidence e) const;
  void report_peer(Findings& findings, const roce::Connection& connection, int client,
                   const LatencySums& sums, Evidence e) const;

  LatencySums sums_;              // `busy` until busy_since_, without `stalled`
  std::int64_t busy_since_ = -1;  // -1: no Call is in flight
  std::int64_t was_busy_since_ = 0, was_busy_until_ = 0;  // the busy period before that
  Covered stalls_, receive_waits_;
  const bool* paused_ = nullptr;
  std::int64_t slowest_ = 0;
  std::uint64_t slowest_frame_ = 0;
};

}  // namespace rpcrdma::rules
