#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::trace_reader {

namespace {

// Counts come from a writer and may be anything: they stop at the largest number.
void grow(std::uint64_t& to, std::uint64_t by) {
  to = to > UINT64_MAX - by ? UINT64_MAX : to + by;
}

constexpr std::array kProcedureCounts{
    &trace::ProcedureSums::calls,       &trace::ProcedureSums::replies,
    &trace::ProcedureSums::errors,      &trace::ProcedureSums::call_bytes,
    &trace::ProcedureSums::reply_bytes, &trace::ProcedureSums::read_chunk_bytes,
    &trace::ProcedureSums::latency_ns,  &trace::ProcedureSums::write_chunk_bytes};
constexpr std::array kConnectionCounts{
    &trace::ConnectionSums::sends,           &trace::ConnectionSums::receives,
    &trace::ConnectionSums::send_bytes,      &trace::ConnectionSums::receive_bytes,
    &trace::ConnectionSums::read_bytes,      &trace::ConnectionSums::written_bytes,
    &trace::ConnectionSums::credit_waits,    &trace::ConnectionSums::credit_wait_ns,
    &trace::ConnectionSums::send_queue_full, &trace::ConnectionSums::resent_calls,
    &trace::ConnectionSums::flushed,         &trace::ConnectionSums::invalid_headers};

// Sums that are smaller than before are those of a source that began again.
bool smaller(const ProcedureCount& now, const ProcedureCount& before) {
  return std::any_of(kProcedureCounts.begin(), kProcedureCounts.end(),
                     [&](auto count) { return now.sums.*count < before.sums.*count; });
}
bool smaller(const trace::ConnectionSums& now, const trace::ConnectionSums& before) {
  return std::any_of(kConnectionCounts.begin(), kConnectionCounts.end(),
                     [&](auto count) { return now.*count < before.*count; });
}

template <typename Count>
void put(Counted<Count>& of, Count now, std::int64_t time_ns, bool first) {
  of.has_before = !first && !smaller(now, of.latest);
  if (of.has_before) {
    of.before = std::move(of.latest);
    of.before_ns = of.latest_ns;
  } else {
    of.before = {};
  }
  of.latest = std::move(now);
  of.latest_ns = time_ns;
}

}  // namespace

SumLatencies SumLatencies::read(std::span<const std::uint8_t> payload) {
  SumLatencies all;
  trace::SumBucket entry;
  for (; payload.size() >= sizeof entry; payload = payload.subspan(sizeof entry)) {
    std::memcpy(&entry, payload.data(), sizeof entry);
    all.add(entry.bucket, entry.count);
  }
  return all;
}

void SumLatencies::add(std::uint32_t bucket, std::uint64_t count) {
  if (bucket < trace::kSumBuckets && count != 0) grow(buckets_[bucket], count);
}

void SumLatencies::add(const SumLatencies& other) {
  for (const auto& [bucket, count] : other.buckets_) grow(buckets_[bucket], count);
}

void SumLatencies::subtract(const SumLatencies& earlier) {
  for (const auto& [bucket, count] : earlier.buckets_) {
    const auto at = buckets_.find(bucket);
    if (at == buckets_.end()) continue;
    at->second -= std::min(at->second, count);
    if (at->second == 0) buckets_.erase(at);
  }
}

std::uint64_t SumLatencies::count() const {
  std::uint64_t all = 0;
  for (const auto& [bucket, count] : buckets_) grow(all, count);
  return all;
}

std::optional<std::uint64_t> SumLatencies::quantile(double q) const {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(all));
  std::uint64_t below = 0;
  std::uint32_t found = buckets_.rbegin()->first;
  for (const auto& [bucket, count] : buckets_) {
    grow(below, count);
    if (static_cast<double>(below) < std::max(rank, 1.0)) continue;
    found = bucket;
    break;
  }
  const std::uint64_t lowest = trace::lowest_of_sum_bucket(found);
  return lowest + (trace::lowest_of_sum_bucket(found + 1) - lowest) / 2;
}

void add(ProcedureCount& to, const ProcedureCount& from) {
  for (const auto count : kProcedureCounts) grow(to.sums.*count, from.sums.*count);
  to.sums.max_latency_ns = std::max(to.sums.max_latency_ns, from.sums.max_latency_ns);
  to.latencies.add(from.latencies);
}

void add(trace::ConnectionSums& to, const trace::ConnectionSums& from) {
  for (const auto count : kConnectionCounts) grow(to.*count, from.*count);
}

SumLatencies recent_latencies(const CountedProcedure& procedure) {
  SumLatencies recent = procedure.latest.latencies;
  recent.subtract(procedure.before.latencies);
  return recent;
}

void Sums::take(std::uint32_t connection, const trace::EventView& view) {
  if (const auto sums = trace::read_event<trace::ProcedureSums>(view)) {
    const ProcedureKey key{connection, sums->side, sums->program, sums->version, sums->procedure};
    auto at = procedures_.find(key);
    const bool first = at == procedures_.end();
    if (first && procedures_.size() >= kMaxProcedures) {
      ++omitted_;
      return;
    }
    if (first) at = procedures_.emplace(key, CountedProcedure{}).first;
    put(at->second, ProcedureCount{*sums, SumLatencies::read(view.payload)}, view.header.time,
        first);
  } else if (const auto of = trace::read_event<trace::ConnectionSums>(view)) {
    auto at = connections_.find(connection);
    const bool first = at == connections_.end();
    if (first && connections_.size() >= kMaxConnections) {
      ++omitted_;
      return;
    }
    if (first) at = connections_.emplace(connection, CountedConnection{}).first;
    put(at->second, *of, view.header.time, first);
  }
}

void Sums::forget(std::uint32_t connection) {
  procedures_.erase(
      procedures_.lower_bound({connection, 0, 0, 0, 0}),
      procedures_.upper_bound({connection, UINT8_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}));
  connections_.erase(connection);
}

}  // namespace rpcrdma::trace_reader
