#include "range_latency.h"

#include <algorithm>
#include <map>

namespace rpcrdma::gui {

namespace {

constexpr std::uint64_t kRowsAtOnce = 4096;        // rows at a time: the reading thread waits
constexpr std::size_t kMostRangeProcedures = 512;  // further ones count as one

bool answer_failed(const index::Content& c, const index::MessageRow& answer) {
  if (answer.kind == model::Kind::kError) return true;
  if (answer.outcome == 0 || answer.outcome >= c.outcomes.size()) return false;
  const model::RpcInfo& rpc = c.outcomes[answer.outcome].rpc;
  return rpc.header_seen && (rpc.reply_stat != wire::ReplyStat::kAccepted ||
                             rpc.accept_stat != wire::AcceptStat::kSuccess);
}

void add_latency(index::ProcedureTimes& t, std::uint64_t id, const index::MessageRow& row) {
  t.total.add(row.latency_ns);
  const index::ProcedureTimes::Slow slow{row.latency_ns, id, row.frame, row.time_ns};
  if (t.slowest.size() == index::ProcedureTimes::kMostSlow &&
      t.slowest.back().latency_ns >= slow.latency_ns) {
    return;
  }
  t.slowest.insert(
      std::upper_bound(t.slowest.begin(), t.slowest.end(), slow,
                       [](const auto& a, const auto& b) { return a.latency_ns > b.latency_ns; }),
      slow);
  if (t.slowest.size() > index::ProcedureTimes::kMostSlow) t.slowest.pop_back();
}

}  // namespace

RangeLatency range_latency(const index::Store& store, std::int64_t from_ns, std::int64_t to_ns,
                           std::uint64_t most, const std::atomic<bool>& cancelled) {
  RangeLatency result;
  // By label and direction, as the statistics of the whole time.
  std::map<std::pair<std::string, bool>, index::ProcedureTimes> all;
  std::uint64_t at = 0;
  std::uint64_t end = 0;
  store.read([&](const index::Content& c) {
    const auto bound = [&c](auto before) {
      std::uint64_t low = 0;
      std::uint64_t high = c.rows.size();
      while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (before(c.rows[middle].time_ns)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    at = bound([&](std::int64_t ns) { return ns < from_ns; });
    end = std::max(at, bound([&](std::int64_t ns) { return ns <= to_ns; }));
  });
  result.messages = end - at;
  result.counted = std::min(result.messages, most);
  end = at + result.counted;
  while (at < end && !cancelled) {
    const std::uint64_t until = std::min(end, at + kRowsAtOnce);
    store.read([&](const index::Content& c) {
      for (; at < until; ++at) {
        const index::MessageRow& row = c.rows[at];
        // A Call that still waits for its Reply is not counted, as in the whole time.
        if (row.kind != model::Kind::kCall || !row.is(index::MessageRow::kOver) ||
            !row.is(index::MessageRow::kOfCall)) {
          continue;
        }
        std::pair<std::string, bool> key{"not known", c.reverse(row)};
        if (row.procedure != 0 && row.procedure < c.procedures.size()) {
          key.first = c.procedures[row.procedure].label;
        }
        if (all.size() >= kMostRangeProcedures && !all.contains(key)) key.first = "all others";
        index::ProcedureTimes& t = all[key];
        if (t.calls++ == 0) {
          t.label = key.first;
          t.key.reverse = key.second;
        }
        if (row.match != 0 && row.match <= c.rows.size() &&
            answer_failed(c, c.rows[row.match - 1])) {
          ++t.errors;
        }
        if (row.latency_ns >= 0) add_latency(t, at + 1, row);
      }
    });
  }
  for (auto& [key, times] : all) result.procedures.push_back(std::move(times));
  return result;
}

}  // namespace rpcrdma::gui
