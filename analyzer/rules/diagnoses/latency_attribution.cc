#include "latency_attribution.h"

#include "checks/add_time.h"
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

// Of a Call that had come by then, whatever its acknowledgement says: it was worked on, or
// answered.
std::int64_t way_of(const model::Call& call, std::int64_t latency) {
  if (call.acknowledged_after_ns < 0) return 0;
  const std::int64_t come =
      call.first_op_ns >= 0 ? call.first_op_ns - call.message.time_ns : latency;
  return std::clamp<std::int64_t>(call.acknowledged_after_ns, 0, std::max<std::int64_t>(come, 0));
}

// "of which 40 % was its turn, 800 us went into RDMA operations and 9 ms passed on the way"
std::string parts(std::int64_t peer_percent, std::int64_t data, std::int64_t way) {
  std::string text = fmt::format(", of which {} % was its turn", peer_percent);
  const char* const before_last = data != 0 && way != 0 ? "," : " and";
  if (data != 0) {
    text += fmt::format("{} {} went into RDMA operations", before_last, duration(data));
  }
  if (way != 0) {
    text +=
        fmt::format(" and {} passed until its adapter had acknowledged the Call", duration(way));
  }
  return text;
}

// What is less than a percent is no part of it.
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

// A side that stands still sends no Call, or no Reply: in that time Calls come to be outstanding or
// cease to be, and not both.
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
  // RNR tells of that, and it is neither the network nor slow work.
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
            "for {} of the {} in which Calls were outstanding ({} %) a side stood "
            "still before it sent packets again",
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
  stalls.unsure =
      "for how long a side stood still before it sent packets again an endpoint does "
      "not tell";
  findings.add(RuleId::kSlowNetwork, stalls, [] { return std::string(); });
}

void LatencyAttribution::report_peer(Findings& findings, const roce::Connection& connection,
                                     int client, const LatencySums& sums, Evidence e) const {
  const auto n = static_cast<std::int64_t>(std::max<std::uint64_t>(sums.replies, 1));
  const std::int64_t way = way_part(sums);
  e.side = 1 - client;
  if (unknown_stalls(connection)) {
    e.unsure = "packets were lost, and how long that took an endpoint does not see";
  } else if (connection.recorded && connection.recorder == client) {
    e.unsure = "how long the way to the responder takes the requester's endpoint does not see";
  } else if (connection.side[0].operations_unseen && connection.side[1].operations_unseen) {
    e.unsure = "the recording is without RDMA operations, and how long they took is not known";
  }
  findings.add(RuleId::kSlowPeer, e, [&] {
    std::string text = fmt::format("{} from Call to Reply on average of {} Calls",
                                   duration(sums.latency / n), sums.replies);
    if (connection.side[static_cast<std::size_t>(1 - client)].operations_unseen) {
      text += ", its RDMA operations included";
    } else if (sums.data == 0 && way == 0) {
      text += ", all of it its turn";
    } else {
      text += parts(percent(sums.latency - sums.data - way, sums.latency), sums.data / n, way / n);
    }
    if (sums.stalled != 0) {
      text += fmt::format("; packets sent again stalled the connection for {} in all",
                          duration(sums.stalled));
    }
    return sums.replies < sums_.replies
               ? text
               : text + fmt::format("; the slowest Call took {}", duration(slowest_));
  });
}

// No packet was lost, so it is no fault of anybody's for certain.
void LatencyAttribution::report_long_path(Findings& findings, const LatencySums& sums, Evidence e) {
  const auto n = static_cast<std::int64_t>(std::max<std::uint64_t>(sums.replies, 1));
  e.at_most = Level::kNote;
  e.topic = 1;
  findings.add(
      RuleId::kSlowNetwork, e,
      [&] {
        return fmt::format(
            "{} from Call to Reply on average of {} Calls, of which {} passed until the "
            "responder's adapter had acknowledged the Call",
            duration(sums.latency / n), sums.replies, duration(sums.way / n));
      },
      "Adapters acknowledge by themselves: look at the way between the peers (its length, queues, "
      "pause frames) and at the responder's adapter, before the responder's software.");
}

}  // namespace rpcrdma::rules
