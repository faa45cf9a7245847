// Sums the time of Calls in the responder, on the path and in RDMA operations, and judges the sums.
#include "latency_attribution.h"

#include "congestion.h"
#include "durations.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughReplies = 8;
constexpr std::int64_t kSlowLatency = 1'000'000;  // nanoseconds from Call to Reply
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

// "8 of 9 Calls took 1 ms or longer, "
std::string typical(std::uint64_t slow, std::uint64_t replies) {
  return fmt::format("{} of {} Calls took {} or longer, ", slow, replies, duration(kSlowLatency));
}

// "; 800 us in RDMA operations and 9 ms until its adapter had acknowledged the Calls"
std::string parts(std::int64_t data, std::int64_t way) {
  std::string text;
  if (data != 0) text = fmt::format("; {} in RDMA operations", duration(data));
  if (way != 0) {
    text += fmt::format("{} {} until its adapter had acknowledged the Calls",
                        data != 0 ? " and" : ";", duration(way));
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
  add_time(sums_.latency, latency);
  const bool moved = call.first_op_ns >= 0 && call.last_op_ns >= call.first_op_ns;
  const std::int64_t data = moved ? call.last_op_ns - call.first_op_ns : 0;
  const std::int64_t way = way_of(call, latency);
  add_time(sums_.data, data);
  add_time(sums_.way, way);
  if (latency >= kSlowLatency) {
    ++sums_.slow;
    sums_.slow_peer += percent(latency - data - way, latency) >= kPeerPercent ? 1 : 0;
    sums_.slow_way += percent(way, latency) >= kPeerPercent ? 1 : 0;
  }
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
  // The median counts as well as the share of the time: a few very slow Calls accuse nobody.
  const auto is_typical = [&](std::uint64_t slow) { return slow * 2 > sums.replies; };
  if (is_typical(sums.slow_way) && percent(way_part(sums), sums.latency) >= kPeerPercent) {
    return Slow::kLongWay;
  }
  const std::int64_t in_peer = sums.latency - sums.data - way_part(sums);
  return is_typical(sums.slow_peer) && percent(in_peer, sums.latency) >= kPeerPercent ? Slow::kPeer
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
            "({} %){}",
            duration(sums.stalled), duration(sums.busy), percent(sums.stalled, sums.busy),
            congestion(connection));
      });
    case Slow::kLongWay:
      return report_long_path(findings, sums, e);
    case Slow::kPeer:
      return report_peer(findings, connection, client, sums, e);
  }
}

// A text for the findings; empty if no congestion was signalled.
const char* LatencyAttribution::congestion(const roce::Connection& connection) const {
  if (was_congested(connection)) return "; the network signalled congestion meanwhile";
  return paused_ != nullptr && *paused_ ? "; pause frames were sent meanwhile" : "";
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
  const std::int64_t way = way_part(sums);
  e.side = 1 - client;
  if (unknown_stalls(connection)) {
    e.unsure = "packets were lost, and an endpoint cannot see how long that took";
  } else if (connection.recorded && connection.recorder == client) {
    e.unsure = "the requester's endpoint cannot see how long packets take to the responder";
  } else if (connection.side[0].operations_unseen && connection.side[1].operations_unseen) {
    e.unsure = "the recording has no RDMA operations, so their duration is not known";
  }
  const char* const congested = congestion(connection);
  const char* const advice =
      *congested == '\0' ? nullptr
                         : "Check the responder (storage, locks, threads) and the network: "
                           "congestion holds back Replies and data that wait in the responder's "
                           "adapter, which looks as if the responder were slow (see CONGESTION).";
  const auto describe = [&] {
    std::string text = typical(sums.slow_peer, sums.replies);
    const std::string all = duration(sums.latency);
    if (connection.side[static_cast<std::size_t>(1 - client)].operations_unseen) {
      text += fmt::format("RDMA operations of the responder included; {} in total", all);
    } else if (sums.data == 0 && way == 0) {
      text += fmt::format("all of it in the responder; {} in total", all);
    } else {
      const std::int64_t in_peer = std::max<std::int64_t>(sums.latency - sums.data - way, 0);
      text += fmt::format("at least {} % of it in the responder; in total it had {} of {}{}",
                          kPeerPercent, duration(in_peer), all, parts(sums.data, way));
    }
    if (sums.stalled != 0) {
      text += fmt::format("; retransmissions stalled the connection for a total of {}",
                          duration(sums.stalled));
    }
    text += congested;
    return sums.replies < sums_.replies
               ? text
               : text + fmt::format("; the slowest Call took {}", duration(slowest_));
  };
  findings.add(RuleId::kSlowPeer, e, describe, advice);
}

// No packet was lost, so no side is certainly at fault.
void LatencyAttribution::report_long_path(Findings& findings, const LatencySums& sums,
                                          Evidence e) const {
  e.at_most = Level::kNote;
  e.topic = 1;
  findings.add(
      RuleId::kSlowNetwork, e,
      [&] {
        return fmt::format(
            "{}at least {} % of it until the responder's adapter had acknowledged the Call; in "
            "total {} of {}{}",
            typical(sums.slow_way, sums.replies), kPeerPercent, duration(sums.way),
            duration(sums.latency), congestion(*e.connection));
      },
      "Check the path between the peers (its length, queues, pause frames) and the responder's "
      "adapter before the responder's software: adapters acknowledge by themselves.");
}

}  // namespace rpcrdma::rules
