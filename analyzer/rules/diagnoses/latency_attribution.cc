// Sums the time of Calls in the responder, on the path and in RDMA operations, and judges the sums.
#include "latency_attribution.h"

#include "durations.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughReplies = 8;
constexpr std::int64_t kSlowLatency = 1'000'000;  // nanoseconds from Call to Reply, on average
constexpr std::int64_t kNetworkPercent = 25;
constexpr std::int64_t kPeerPercent = 80;

bool packets_went_wrong(const roce::Connection& connection) {
  return std::ranges::any_of(connection.side, [](const roce::Side& side) {
    const roce::SideCounters& n = side.counters;
    return n.retransmitted != 0 || n.rnr != 0 ||
           std::ranges::any_of(n.naks, [](std::uint64_t naks) { return naks != 0; });
  });
}

// Returns the path time of a Call: until its acknowledgment, but no longer than until the first
// RDMA operation or the Reply, which show that the Call had arrived.
std::int64_t way_of(const model::Call& call, std::int64_t latency) {
  if (call.acknowledged_after_ns < 0) return 0;
  const std::int64_t come =
      call.first_op_ns >= 0 ? call.first_op_ns - call.message.time_ns : latency;
  return std::clamp<std::int64_t>(call.acknowledged_after_ns, 0, std::max<std::int64_t>(come, 0));
}

// ", 40 % of it in the responder, 800 us in RDMA operations and 9 ms until its adapter had
// acknowledged the Call"
std::string parts(std::int64_t peer_percent, std::int64_t data, std::int64_t way) {
  std::string text = fmt::format(", {} % of it in the responder", peer_percent);
  const char* const before_last = data != 0 && way != 0 ? "," : " and";
  if (data != 0) {
    text += fmt::format("{} {} in RDMA operations", before_last, duration(data));
  }
  if (way != 0) {
    text += fmt::format(" and {} until its adapter had acknowledged the Call", duration(way));
  }
  return text;
}

// Returns the path time, or 0 if it is less than a percent of the latency.
std::int64_t way_part(const LatencySums& sums) {
  return percent(sums.way, sums.latency) == 0 ? 0 : sums.way;
}

bool unknown_stalls(const roce::Connection& connection) {
  return connection.recorded && packets_went_wrong(connection);
}

}  // namespace

void LatencyAttribution::note(const model::Message& m) {
  if (m.kind == model::Kind::kCall) {
    if (busy_since_ < 0) busy_since_ = m.time_ns;
  } else if (busy_since_ >= 0 && m.credits.in_use == 0) {
    add_time(sums_.busy, m.time_ns - busy_since_);
    was_busy_since_ = std::exchange(busy_since_, -1);
    was_busy_until_ = m.time_ns;
  }
}

// A stalled side sends neither Calls nor Replies: in that time Calls only come into flight, or only
// leave it, never both.
std::int64_t LatencyAttribution::add_busy(Covered& covered, std::int64_t from,
                                          std::int64_t until) const {
  if (busy_since_ >= 0) return covered.add(std::max(from, busy_since_), until);
  return covered.add(std::max(from, was_busy_since_), std::min(until, was_busy_until_));
}

std::int64_t LatencyAttribution::stood_still(std::int64_t from, std::int64_t until) {
  return add_busy(stalls_, from, until);
}

void LatencyAttribution::waited_for_receive(std::int64_t from, std::int64_t until) {
  add_time(sums_.no_receive, add_busy(receive_waits_, from, until));
}

void LatencyAttribution::answered(const model::Call& call, const model::Message& reply) {
  const std::int64_t latency = reply.time_ns - call.message.time_ns;
  ++sums_.replies;
  sums_.slow += latency >= kSlowLatency ? 1 : 0;
  add_time(sums_.latency, latency);
  if (call.first_op_ns >= 0 && call.last_op_ns >= call.first_op_ns) {
    add_time(sums_.data, call.last_op_ns - call.first_op_ns);
  }
  add_time(sums_.way, way_of(call, latency));
  if (latency > slowest_) {
    slowest_ = latency;
    slowest_frame_ = call.message.frame;
  }
}

LatencySums LatencyAttribution::sums(std::int64_t now_ns, std::int64_t stalled) const {
  LatencySums sums = sums_;
  sums.stalled = stalled;
  if (busy_since_ >= 0) add_time(sums.busy, std::max<std::int64_t>(now_ns - busy_since_, 0));
  return sums;
}

LatencyAttribution::Slow LatencyAttribution::judge(const LatencySums& sums) {
  if (sums.replies < kEnoughReplies) return Slow::kNo;
  if (percent(sums.stalled, sums.busy) >= kNetworkPercent) return Slow::kStalls;
  // RNR reports this case: neither the network nor the responder's work is slow.
  if (percent(sums.no_receive, sums.busy) >= kNetworkPercent) return Slow::kNo;
  if (sums.latency < kSlowLatency * static_cast<std::int64_t>(sums.replies)) return Slow::kNo;
  if (percent(way_part(sums), sums.latency) >= kPeerPercent) return Slow::kLongWay;
  return percent(sums.latency - sums.data - way_part(sums), sums.latency) >= kPeerPercent
             ? Slow::kPeer
             : Slow::kNo;
}

void LatencyAttribution::report(Findings& findings, const roce::Connection& connection, int client,
                                Slow slow, const LatencySums& sums, Evidence e) const {
  e.connection = &connection;
  e.frames = {slowest_frame_, 0};
  switch (slow) {
    case Slow::kNo:
      return;
    case Slow::kStalls:
      return findings.add(RuleId::kSlowNetwork, e, [&] {
        return fmt::format(
            "a side stalled before retransmissions for {} of the {} in which Calls were in flight "
            "({} %)",
            duration(sums.stalled), duration(sums.busy), percent(sums.stalled, sums.busy));
      });
    case Slow::kLongWay:
      return report_long_path(findings, sums, e);
    case Slow::kPeer:
      return report_peer(findings, connection, client, sums, e);
  }
}

void LatencyAttribution::report_unknown_stalls(Findings& findings,
                                               const roce::Connection& connection) const {
  if (sums_.replies < kEnoughReplies || !unknown_stalls(connection)) return;
  Evidence stalls;
  stalls.connection = &connection;
  stalls.frames = {slowest_frame_, 0};
  stalls.unsure = "an endpoint does not report for how long a side stalled before retransmissions";
  findings.add(RuleId::kSlowNetwork, stalls, [] { return std::string(); });
}

void LatencyAttribution::report_peer(Findings& findings, const roce::Connection& connection,
                                     int client, const LatencySums& sums, Evidence e) const {
  const auto n = static_cast<std::int64_t>(std::max<std::uint64_t>(sums.replies, 1));
  const std::int64_t way = way_part(sums);
  e.side = 1 - client;
  if (unknown_stalls(connection)) {
    e.unsure = "packets were lost, and an endpoint cannot see how long that took";
  } else if (connection.recorded && connection.recorder == client) {
    e.unsure = "the requester's endpoint cannot see how long packets take to the responder";
  } else if (connection.side[0].operations_unseen && connection.side[1].operations_unseen) {
    e.unsure = "the recording has no RDMA operations, so their duration is not known";
  }
  findings.add(RuleId::kSlowPeer, e, [&] {
    std::string text = fmt::format("Replies took {} on average over {} Calls",
                                   duration(sums.latency / n), sums.replies);
    if (connection.side[static_cast<std::size_t>(1 - client)].operations_unseen) {
      text += ", RDMA operations of the responder included";
    } else if (sums.data == 0 && way == 0) {
      text += ", all of it in the responder";
    } else {
      text += parts(percent(sums.latency - sums.data - way, sums.latency), sums.data / n, way / n);
    }
    if (sums.stalled != 0) {
      text += fmt::format("; retransmissions stalled the connection for a total of {}",
                          duration(sums.stalled));
    }
    return sums.replies < sums_.replies
               ? text
               : text + fmt::format("; the slowest Call took {}", duration(slowest_));
  });
}

// No packet was lost, so no side is certainly at fault.
void LatencyAttribution::report_long_path(Findings& findings, const LatencySums& sums, Evidence e) {
  const auto n = static_cast<std::int64_t>(std::max<std::uint64_t>(sums.replies, 1));
  e.at_most = Level::kNote;
  e.topic = 1;
  findings.add(
      RuleId::kSlowNetwork, e,
      [&] {
        return fmt::format(
            "Replies took {} on average over {} Calls, {} of it until the responder's adapter had "
            "acknowledged the Call",
            duration(sums.latency / n), sums.replies, duration(sums.way / n));
      },
      "Check the path between the peers (its length, queues, pause frames) and the responder's "
      "adapter before the responder's software: adapters acknowledge by themselves.");
}

}  // namespace rpcrdma::rules
