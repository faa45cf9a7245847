// One endpoint of a host over time: rates and latencies from its cumulative counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {

// Memory for histograms that all endpoints of a view share.
struct BucketBudget {
  std::size_t left = 0;
  std::uint64_t refused = 0;  // histograms that did not fit
};

class EndpointTrack {
 public:
  // The budget outlives it.
  explicit EndpointTrack(BucketBudget& budget) : budget_(&budget) {}
  ~EndpointTrack() { forget(); }
  EndpointTrack(const EndpointTrack&) = delete;
  EndpointTrack& operator=(const EndpointTrack&) = delete;

  // `monotonic_ns`: when the summary was made, on the host's clock, later than the one before.
  void take(const EndpointSummary& e, std::int64_t monotonic_ns);

  [[nodiscard]] const EndpointState& state() const { return state_; }
  // Latencies of the window; null: not known.
  [[nodiscard]] const base::CompactHistogram* window() const {
    return window_known_ ? &window_ : nullptr;
  }

 private:
  // What a later summary is compared with.
  struct Moment {
    std::int64_t monotonic_ns = 0;
    EndpointSummary cumulative;  // generation, counters and latencies only
    bool latency_known = true;   // false: beyond the budget
  };

  void forget();
  void forget_oldest();
  // Whether the counters continue those of the latest moment.
  [[nodiscard]] bool continues(const EndpointSummary& e) const;
  void remember(const EndpointSummary& e, std::int64_t monotonic_ns);
  void measure(const EndpointSummary& e, std::int64_t monotonic_ns);

  BucketBudget* budget_;
  std::deque<Moment> moments_;  // the oldest first, of about kLatencyWindowNs
  EndpointState state_;
  base::CompactHistogram window_;
  bool window_known_ = false;
};

}  // namespace rpcrdma::fleet
