#include "endpoint_track.h"

#include "latency_sum.h"

#include <algorithm>

namespace rpcrdma::fleet {

namespace {

// An agent sends one each second; a forged one sends more.
constexpr std::size_t kMostMoments = 16;

double per_second(std::uint64_t now, std::uint64_t before, std::int64_t elapsed_ns) {
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(elapsed_ns);
}

}  // namespace

void EndpointTrack::forget_oldest() {
  budget_->left += moments_.front().cumulative.latency.bucket_count();
  moments_.pop_front();
}

void EndpointTrack::forget() {
  while (!moments_.empty()) forget_oldest();
}

bool EndpointTrack::continues(const EndpointSummary& e) const {
  if (moments_.empty()) return false;
  const EndpointSummary& before = moments_.back().cumulative;
  const Counters& old = before.counters;
  const Counters& now = e.counters;
  bool grows = e.generation == before.generation && now.calls >= old.calls &&
               now.replies >= old.replies && now.errors >= old.errors;
  for (std::size_t i = 0; i < now.chunk_bytes.size(); ++i) {
    grows = grows && now.chunk_bytes[i] >= old.chunk_bytes[i];
  }
  return grows;
}

void EndpointTrack::measure(const EndpointSummary& e, std::int64_t monotonic_ns) {
  state_.rates.reset();
  state_.latency = {};
  window_ = {};
  window_known_ = false;
  if (moments_.empty()) return;
  const Moment& last = moments_.back();
  const std::int64_t elapsed = monotonic_ns - last.monotonic_ns;
  if (elapsed <= 0) return;
  const Counters& old = last.cumulative.counters;
  const auto bytes = [&](std::size_t list) {
    return per_second(e.counters.chunk_bytes[list], old.chunk_bytes[list], elapsed);
  };
  state_.rates = ViewRates{.calls = per_second(e.counters.calls, old.calls, elapsed),
                           .errors = per_second(e.counters.errors, old.errors, elapsed),
                           .read_bytes = bytes(0),
                           .write_bytes = bytes(1),
                           .reply_bytes = bytes(2)};
  const auto since = std::ranges::find(moments_, true, &Moment::latency_known);
  if (since == moments_.end()) return;
  const base::Histogram window = latency_since(e, &since->cumulative);
  LatencySum sum;
  sum.add(window);
  state_.latency = sum.latency();
  window_ = base::CompactHistogram(window);
  window_known_ = true;
}

void EndpointTrack::remember(const EndpointSummary& e, std::int64_t monotonic_ns) {
  while (moments_.size() >= kMostMoments) forget_oldest();
  Moment now;
  now.monotonic_ns = monotonic_ns;
  now.cumulative.generation = e.generation;
  now.cumulative.counters = e.counters;
  const std::size_t buckets = e.latency.bucket_count();
  while (buckets > budget_->left && !moments_.empty()) forget_oldest();
  if (buckets <= budget_->left) {
    now.cumulative.latency = e.latency;
    now.cumulative.latency_epoch = e.latency_epoch;
    budget_->left -= buckets;
  } else {
    ++budget_->refused;
    now.latency_known = false;
  }
  moments_.push_back(std::move(now));
}

void EndpointTrack::take(const EndpointSummary& e, std::int64_t monotonic_ns) {
  if (!continues(e)) forget();
  state_.name = e.name;
  state_.role = e.role;
  state_.user = e.user;
  state_.process = e.process;
  state_.source = e.source;
  state_.since_ns = e.since_ns;
  state_.end = e.end;
  state_.why = e.why;
  state_.connections = e.connections;
  state_.credits = e.credits;
  state_.counters = e.counters;
  state_.findings = {.errors = e.findings[0], .warnings = e.findings[1], .notes = e.findings[2]};
  state_.events_lost = e.events_lost;
  state_.recordings = e.recordings;
  // The window begins with the latest moment before it.
  while (moments_.size() > 1 && monotonic_ns - moments_[1].monotonic_ns >= kLatencyWindowNs) {
    forget_oldest();
  }
  measure(e, monotonic_ns);
  remember(e, monotonic_ns);
}

}  // namespace rpcrdma::fleet
