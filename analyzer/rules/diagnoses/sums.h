// Sums over a connection's life. The difference of two sums covers the time between them.
#pragma once

#include <array>
#include <cstdint>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

struct LossSums {
  std::uint64_t packets = 0;  // of the side; in recordings: maximum of both sides
  std::uint64_t again = 0;    // retransmissions among them
  // RNR NAKs for its Sends, with and without a Receive due.
  std::uint64_t rnr_owed = 0, rnr_excused = 0;
  friend bool operator==(const LossSums&, const LossSums&) = default;
};

struct CreditSums {
  std::uint64_t calls = 0;
  std::uint64_t waited = 0;  // Calls that were sent as soon as a credit returned
  std::int64_t full_ns = 0;  // time with all credits in use
  friend bool operator==(const CreditSums&, const CreditSums&) = default;
};

// Latency of the forward direction, in nanoseconds.
struct LatencySums {
  std::uint64_t replies = 0;
  std::uint64_t slow = 0;  // Replies that took long
  // Of these: Replies for which most of the time passed in the responder, or on the path.
  std::uint64_t slow_peer = 0, slow_way = 0;
  std::int64_t latency = 0;
  std::int64_t data = 0;     // from the first RDMA operation of a Call to the end of the last
  std::int64_t way = 0;      // path time: from a Call to its acknowledgment
  std::int64_t busy = 0;     // time with Calls in flight
  std::int64_t stalled = 0;  // part of it in which a side stalled before retransmissions
  std::int64_t no_receive = 0;
  friend bool operator==(const LatencySums&, const LatencySums&) = default;
};

struct Sums {
  std::array<LossSums, 2> loss;      // by sender
  std::array<CreditSums, 2> credit;  // by caller
  LatencySums latency;
  friend bool operator==(const Sums&, const Sums&) = default;
};

[[nodiscard]] inline LossSums operator-(const LossSums& a, const LossSums& b) {
  return {a.packets - b.packets, a.again - b.again, a.rnr_owed - b.rnr_owed,
          a.rnr_excused - b.rnr_excused};
}
[[nodiscard]] inline CreditSums operator-(const CreditSums& a, const CreditSums& b) {
  return {a.calls - b.calls, a.waited - b.waited, a.full_ns - b.full_ns};
}
[[nodiscard]] inline LatencySums operator-(const LatencySums& a, const LatencySums& b) {
  return {a.replies - b.replies,
          a.slow - b.slow,
          a.slow_peer - b.slow_peer,
          a.slow_way - b.slow_way,
          a.latency - b.latency,
          a.data - b.data,
          a.way - b.way,
          a.busy - b.busy,
          a.stalled - b.stalled,
          a.no_receive - b.no_receive};
}

[[nodiscard]] inline Sums operator-(const Sums& a, const Sums& b) {
  return {{a.loss[0] - b.loss[0], a.loss[1] - b.loss[1]},
          {a.credit[0] - b.credit[0], a.credit[1] - b.credit[1]},
          a.latency - b.latency};
}

// Earlier reports of a fault while it lasted.
struct Reported {
  bool ever = false;  // it was reported
  bool now = false;   // it was reported and still lasts
  Span span;          // if it still lasts
  int side = -1;      // of the connection, at fault
};

// Completes the evidence for the report at the end of a connection. Returns false if all was
// reported before. A fault that still lasts is summed up.
[[nodiscard]] inline bool conclude(Evidence& e, const Reported& reported) {
  if (!reported.now) return !reported.ever;
  e.phase = ReportPhase::kEnds;
  e.span = reported.span;
  e.side = reported.side;
  return true;
}

}  // namespace rpcrdma::rules
