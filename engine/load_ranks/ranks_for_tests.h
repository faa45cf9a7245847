// Results of ranks made of raw latencies, and random ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::load_ranks {

inline load::Sample sample_of(fabric::Time ended, fabric::Time latency, load::End end) {
  load::Sample s;
  s.end = end;
  s.procedure = static_cast<std::uint32_t>(latency % 3);
  s.bytes = 100;
  s.due = ended - latency;
  s.times.called = s.times.sent = s.due;
  s.times.arrived = s.times.replied = s.times.ended = ended;
  return s;
}

// One Call of a rank: when it ended after the start, and how long it took.
struct RawCall {
  fabric::Time ended = 0;
  fabric::Time latency = 0;
  load::End end = load::End::kRight;
};

inline Results results_of(std::uint32_t rank, const std::vector<RawCall>& calls,
                          std::uint32_t round = 0) {
  Results results;
  load::Result r;
  Row row;
  row.rank = rank;
  row.round = round;
  row.host = "host" + std::to_string(rank);
  row.from = "10.0.0." + std::to_string(rank + 1);
  row.servers = {"10.0.1.1 port 20049"};
  row.offset = ClockOffset{static_cast<fabric::Time>(rank) * 1000 - 5, 20};
  row.skew = static_cast<fabric::Time>(rank) * 10;
  for (const RawCall& c : calls) {
    r.tally.add(sample_of(c.ended, c.latency, c.end));
    const auto second = static_cast<std::uint64_t>(c.ended / fabric::kSecond);
    r.elapsed = std::max(r.elapsed, c.ended);
    if (c.end != load::End::kRight) {
      row.series.add(second, {.errors = 1});
      r.tally.add_reason("reason " + std::to_string(c.latency % 40));
      continue;
    }
    row.series.add(second, {1, 0, 100, static_cast<std::uint64_t>(c.latency)});
    results.latency.add(c.latency);
    base::Histogram one;
    one.add(c.latency);
    results.latency_over_time.add(second, base::CompactHistogram(one));
  }
  r.user = 5 * fabric::kMillisecond;
  fill(row, r);
  results.tally = r.tally;
  results.rows.push_back(std::move(row));
  results.rounds.push_back({round, static_cast<fabric::Time>(round) * 3 * fabric::kSecond});
  return results;
}

inline std::vector<RawCall> random_calls(std::mt19937_64& random, std::size_t count,
                                         fabric::Time length) {
  std::vector<RawCall> calls;
  std::lognormal_distribution<double> latency(11, 2);
  std::uniform_int_distribution<fabric::Time> ended(0, length);
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = random() % 20 == 0   ? load::End::kError
                     : random() % 40 == 0 ? load::End::kMismatch
                                          : load::End::kRight;
    calls.push_back({ended(random), static_cast<fabric::Time>(latency(random)), end});
  }
  return calls;
}

}  // namespace rpcrdma::load_ranks
