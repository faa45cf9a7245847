#include "turns.h"

#include "add_time.h"
#include "durations.h"

#include <algorithm>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughCalls = 8;
constexpr std::int64_t kSlow = 1'000'000;  // nanoseconds from Call to Reply, on average
constexpr std::int64_t kNetworkPercent = 25;
constexpr std::int64_t kPeerPercent = 80;

bool packets_went_wrong(const roce::Connection& connection) {
  return std::ranges::any_of(connection.side, [](const roce::Side& side) {
    const roce::SideCounters& n = side.counters;
    return n.retransmitted != 0 || n.rnr != 0 ||
           std::ranges::any_of(n.naks, [](std::uint64_t naks) { return naks != 0; });
  });
}

}  // namespace

void Turns::note(const model::Message& m) {
  if (m.kind == model::Kind::kCall) {
    if (busy_since_ < 0) busy_since_ = m.time_ns;
  } else if (busy_since_ >= 0 && m.credits.in_use == 0) {
    add_time(busy_, m.time_ns - busy_since_);
    busy_since_ = -1;
  }
}

void Turns::answered(const model::Call& call, const model::Message& reply) {
  const std::int64_t latency = reply.time_ns - call.message.time_ns;
  ++replies_;
  add_time(latency_, latency);
  if (call.first_op_ns >= 0 && call.last_op_ns >= call.first_op_ns) {
    add_time(data_, call.last_op_ns - call.first_op_ns);
  }
  if (latency > slowest_) {
    slowest_ = latency;
    slowest_frame_ = call.message.frame;
  }
}

void Turns::tell(Findings& findings, const roce::Connection& connection, int client,
                 std::int64_t stalled) const {
  if (replies_ < kEnoughCalls) return;
  const auto n = static_cast<std::int64_t>(replies_);
  // Calls that were never answered were outstanding until the end.
  std::int64_t busy = busy_;
  if (busy_since_ >= 0) add_time(busy, connection.last_ns - busy_since_);
  Evidence e;
  e.connection = &connection;
  e.frames = {slowest_frame_, 0};
  if (percent(stalled, busy) >= kNetworkPercent) {
    findings.add(RuleId::kSlowNetwork, e, [&] {
      return fmt::format(
          "for {} of the {} in which Calls were outstanding ({} %) a side stood "
          "still before it sent packets again",
          duration(stalled), duration(busy), percent(stalled, busy));
    });
    return;
  }
  const bool unknown_stalls = connection.recorded && packets_went_wrong(connection);
  if (unknown_stalls) {
    Evidence stalls = e;
    stalls.unsure =
        "for how long a side stood still before it sent packets again an endpoint does "
        "not tell";
    findings.add(RuleId::kSlowNetwork, stalls, [] { return std::string(); });
  }
  const std::int64_t peer = latency_ - data_;
  if (latency_ < kSlow * n || percent(peer, latency_) < kPeerPercent) return;
  e.side = 1 - client;
  if (unknown_stalls) {
    e.unsure = "packets were lost, and how long that took an endpoint does not see";
  } else if (connection.side[0].operations_unseen && connection.side[1].operations_unseen) {
    e.unsure = "the recording is without RDMA operations, and how long they took is not known";
  }
  findings.add(RuleId::kSlowPeer, e, [&] {
    std::string text = fmt::format("{} from Call to Reply on average of {} Calls",
                                   duration(latency_ / n), replies_);
    if (connection.side[static_cast<std::size_t>(1 - client)].operations_unseen) {
      text += ", its RDMA operations included";
    } else if (data_ == 0) {
      text += ", all of it its turn";
    } else {
      text += fmt::format(", of which {} % was its turn and {} went into RDMA operations",
                          percent(peer, latency_), duration(data_ / n));
    }
    if (stalled != 0) {
      text += fmt::format("; packets sent again stalled the connection for {} in all",
                          duration(stalled));
    }
    return text + fmt::format("; the slowest Call took {}", duration(slowest_));
  });
}

}  // namespace rpcrdma::rules
