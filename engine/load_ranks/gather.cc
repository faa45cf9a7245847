// Collects ticks and results, and makes rows of ranks that left only ticks.
#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/load_ranks/gather.h>

namespace rpcrdma::load_ranks {

using fabric::Time;

namespace {

// The same latencies in the other kind of histogram: each as the highest of its bucket.
base::Histogram coarse(const load::HdrHistogram& hdr) {
  std::vector<base::Histogram::Bucket> buckets;
  std::int64_t min = 0, max = 0;
  std::uint64_t sum = 0;
  hdr.for_each_bucket([&](load::HdrHistogram::Bucket b) {
    max = static_cast<Time>(load::HdrHistogram::highest_of(b.index));
    if (buckets.empty()) min = max;
    std::uint64_t added = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(max), b.count, &added) ||
        __builtin_add_overflow(sum, added, &sum)) {
      sum = UINT64_MAX;
    }
    base::Histogram one;
    one.add(max);
    one.for_each_bucket([&](base::Histogram::Bucket same) {
      if (buckets.empty() || buckets.back().index != same.index) buckets.push_back({same.index, 0});
      const std::uint64_t count = buckets.back().count + b.count;
      buckets.back().count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    });
  });
  const auto restored = base::Histogram::restore(min, max, sum, buckets);
  return restored ? *restored : base::Histogram();
}

}  // namespace

void Gather::expect(const Row& row) {
  Rank rank;
  rank.row = row;
  ranks_.insert_or_assign({row.round, row.rank}, std::move(rank));
}

void Gather::begin_round(std::uint32_t round, Time since_first) {
  starts_[round] = since_first;
}

base::Expected<void> Gather::take(const Tick& tick, Time now) {
  const auto at = ranks_.find({tick.round, tick.rank});
  if (at == ranks_.end() || at->second.over) {
    return base::fail(fmt::format("an interval of rank {} in round {}, which is not running",
                                  tick.rank, tick.round));
  }
  Rank& rank = at->second;
  if (rank.passed && tick.index <= *rank.passed) {
    return base::fail(
        fmt::format("rank {} sent second {} after second {}", tick.rank, tick.index, *rank.passed));
  }
  rank.heard = std::max(rank.heard.value_or(now), now);
  rank.passed = tick.index;
  const load::Interval& i = tick.interval;
  Row& row = rank.row;
  row.calls += i.calls + i.errors;
  row.errors += i.errors;
  row.bytes += i.bytes;
  row.elapsed = row.last_heard = tick.elapsed;
  row.series.add(tick.index, {i.calls, i.errors, i.bytes, i.latency.max()});
  rank.latency.merge(i.latency);
  const auto start = starts_.find(tick.round);
  const Time since_first = start == starts_.end() ? 0 : start->second;
  rank.over_time.add(tick.index + static_cast<std::uint64_t>(since_first / fabric::kSecond),
                     base::CompactHistogram(coarse(i.latency)));
  seconds_[{tick.round, tick.index}].merge(i);
  return {};
}

base::Expected<void> Gather::take(const Results& results) {
  for (const Row& row : results.rows) {
    const auto at = ranks_.find({row.round, row.rank});
    if (at == ranks_.end() || at->second.over) {
      return base::fail(
          fmt::format("results of rank {} in round {}, which is not running", row.rank, row.round));
    }
  }
  if (const auto merged = merge(results_, results); !merged) return merged;
  for (const Row& row : results.rows) ranks_.at({row.round, row.rank}).over = true;
  return {};
}

std::vector<std::uint32_t> Gather::missing(std::uint32_t round) const {
  std::vector<std::uint32_t> missing;
  for (const auto& [key, rank] : ranks_) {
    if (key.first == round && !rank.over) missing.push_back(key.second);
  }
  return missing;
}

std::optional<Time> Gather::heard(std::uint32_t round, std::uint32_t rank) const {
  const auto at = ranks_.find({round, rank});
  return at == ranks_.end() ? std::nullopt : at->second.heard;
}

void Gather::give_up(std::uint32_t round, std::uint32_t number, State state, std::string why) {
  const auto at = ranks_.find({round, number});
  if (at == ranks_.end() || at->second.over) return;
  Rank& rank = at->second;
  rank.over = true;
  rank.row.state = state;
  rank.row.why = std::move(why);
  const base::Histogram latency = coarse(rank.latency);
  rank.row.latency = base::CompactHistogram(latency);
  Results partial;
  load::TallyState tally;
  tally.calls = rank.row.calls;
  tally.errors = rank.row.errors;
  tally.bytes = rank.row.bytes;
  tally.latency = latency;
  partial.tally = *load::Tally::restore(std::move(tally));
  partial.latency = std::move(rank.latency);
  partial.latency_over_time = std::move(rank.over_time);
  partial.rows.push_back(rank.row);
  // Its row is in no other results, or it would be over.
  (void)merge(results_, partial);
}

load::Interval Gather::second(std::uint32_t round, std::uint64_t index) const {
  const auto at = seconds_.find({round, index});
  return at == seconds_.end() ? load::Interval() : at->second;
}

bool Gather::complete(std::uint32_t round, std::uint64_t index) const {
  return std::ranges::all_of(ranks_, [&](const auto& of_rank) {
    const auto& [key, rank] = of_rank;
    return key.first != round || rank.over || (rank.passed && *rank.passed >= index);
  });
}

void Gather::forget(std::uint32_t round, std::uint64_t index) {
  seconds_.erase(seconds_.lower_bound({round, 0}), seconds_.upper_bound({round, index}));
}

Results Gather::finish() {
  std::vector<Key> left;
  for (const auto& [key, rank] : ranks_) {
    if (!rank.over) left.push_back(key);
  }
  for (const auto& [round, rank] : left) give_up(round, rank, State::kLost, "no result came");
  Results starts;
  for (const auto& [round, start] : starts_) starts.rounds.push_back({round, start});
  (void)merge(results_, starts);
  return std::move(results_);
}

}  // namespace rpcrdma::load_ranks
