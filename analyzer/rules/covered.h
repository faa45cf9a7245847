// How much time intervals cover together, which come in the order of their ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::rules {

class Covered {
 public:
  // Gives what it covers beyond those before it, nanoseconds.
  std::int64_t add(std::int64_t from, std::int64_t until) {
    from = std::max(from, settled_);
    if (until <= from || (count_ != 0 && until < kept_[count_ - 1].until)) return 0;
    std::int64_t more = until - from;
    Interval joined{from, until};
    for (; count_ != 0 && kept_[count_ - 1].until >= from; --count_) {
      const Interval& before = kept_[count_ - 1];
      more -= before.until - std::max(before.from, from);
      joined.from = std::min(joined.from, before.from);
    }
    if (count_ == kKept) {
      settled_ = kept_.front().until;
      std::move(kept_.begin() + 1, kept_.end(), kept_.begin());
      --count_;
    }
    kept_[count_++] = joined;
    return more;
  }

 private:
  struct Interval {
    std::int64_t from = 0, until = 0;
  };
  // Apart from each other. Of two sides, only a stall that spans as many of the other's reaches
  // behind them: then what lies there is left out, and nothing counted twice.
  static constexpr std::size_t kKept = 8;
  std::array<Interval, kKept> kept_{};
  std::size_t count_ = 0;
  std::int64_t settled_ = INT64_MIN;
};

}  // namespace rpcrdma::rules
