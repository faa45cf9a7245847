// Sums the time that intervals cover together. Intervals must be added in the order of their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rpcrdma::rules {

class Covered {
 public:
  // Returns the time that it covers beyond earlier intervals, in nanoseconds.
  std::int64_t add(std::int64_t from, std::int64_t until) {
    from = std::max(from, settled_);
    if (until <= from || (!kept_.empty() && until < kept_.back().until)) return 0;
    std::int64_t more = until - from;
    Interval joined{from, until};
    for (; !kept_.empty() && kept_.back().until >= from; kept_.pop_back()) {
      const Interval& before = kept_.back();
      more -= before.until - std::max(before.from, from);
      joined.from = std::min(joined.from, before.from);
    }
    if (kept_.size() == kKept) {
      settled_ = kept_.front().until;
      kept_.erase(kept_.begin());
    }
    kept_.push_back(joined);
    return more;
  }

 private:
  struct Interval {
    std::int64_t from = 0, until = 0;
  };
  // Disjoint intervals. Only a stall of one side that spans this many of the other side's reaches
  // behind the oldest: the time before it is left out then, and no time is counted twice.
  static constexpr std::size_t kKept = 8;
  std::vector<Interval> kept_;  // most connections have none
  std::int64_t settled_ = INT64_MIN;
};

}  // namespace rpcrdma::rules
