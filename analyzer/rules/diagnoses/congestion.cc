#include "congestion.h"

#include "durations.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

// How many Calls of each kind show that latency rises with the signals, and by how much.
constexpr std::int64_t kEnoughCalls = 8;
constexpr std::int64_t kSlowerTimes = 2;     // times
constexpr std::int64_t kSlowerNs = 100'000;  // and at least

void append_part(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : ", ") + text;
}

std::string signals_of(const roce::SideCounters& n, const char* name) {
  std::string text;
  if (n.ce != 0) {
    append_part(text,
                fmt::format("{} of {} packets of the {} were marked CE", n.ce, n.packets, name));
  }
  if (n.cnps != 0) {
    append_part(text, fmt::format("the {} sent {} CNP{}", name, n.cnps, n.cnps == 1 ? "" : "s"));
  }
  return text;
}

}  // namespace

bool was_congested(const roce::Connection& connection) {
  return std::any_of(connection.side.begin(), connection.side.end(), [](const roce::Side& side) {
    return side.counters.ce != 0 || side.counters.cnps != 0;
  });
}

void Congestion::Latencies::add(std::int64_t latency) {
  ++calls;
  add_time(ns, latency);
}

void Congestion::signalled(const roce::PacketMeta& meta) {
  latest_ns_ = std::max(latest_ns_, meta.time_ns);
  if (first_frame_ == 0) first_frame_ = meta.frame;
  last_frame_ = meta.frame;
}

void Congestion::answered(const model::Call& call, const model::Message& reply) {
  Latencies& to = latest_ns_ >= call.message.time_ns ? marked_ : unmarked_;
  to.add(reply.time_ns - call.message.time_ns);
}

void Congestion::report(Findings& findings, const roce::Connection& connection, int client) const {
  if (!was_congested(connection)) return;
  const bool enough = marked_.calls >= kEnoughCalls && unmarked_.calls >= kEnoughCalls;
  const bool slower = enough && marked_.mean() / kSlowerTimes >= unmarked_.mean() &&
                      marked_.mean() - unmarked_.mean() >= kSlowerNs;
  Evidence e;
  e.connection = &connection;
  e.frames = {first_frame_, last_frame_ == first_frame_ ? 0 : last_frame_};
  if (!slower) e.at_most = Level::kNote;
  findings.add(RuleId::kCongestion, e, [&] {
    const auto first = static_cast<std::size_t>(client < 0 ? 0 : client);
    std::string text = signals_of(connection.side[first].counters, "client");
    const std::string server = signals_of(connection.side[1 - first].counters, "server");
    if (!server.empty()) append_part(text, server);
    if (marked_.calls != 0) {
      text += fmt::format("; Calls in flight at a signal took {} on average ({} Calls)",
                          duration(marked_.mean()), marked_.calls);
      if (unmarked_.calls != 0) {
        text += fmt::format(", the others {} ({})", duration(unmarked_.mean()), unmarked_.calls);
      }
    }
    return text;
  });
}

}  // namespace rpcrdma::rules
