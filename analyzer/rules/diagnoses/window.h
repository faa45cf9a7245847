// A sliding window over sums: a fault that begins late must not be diluted by a long life before
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/rules/finding.h>

namespace rpcrdma::rules {

// Marks of growing sums, about a second apart, over the last kWindowNs. While nothing grows, one
// mark is enough.
template <typename Sums>
class Window {
 public:
  struct Mark {
    std::int64_t time_ns = 0;
    Sums sums;
  };

  void mark(std::int64_t now_ns, const Sums& sums) {
    if (!marks_.empty() && now_ns < marks_.back().time_ns)
      marks_.clear();  // the clock was set back
    if (!marks_.empty() && marks_.back().sums == sums) {
      marks_.back().time_ns = now_ns;
    } else if (marks_.empty() || now_ns - marks_.back().time_ns >= kApart) {
      marks_.push_back({now_ns, sums});
    }
    std::size_t over = 0;
    while (over + 1 < marks_.size() && marks_[over + 1].time_ns <= now_ns - kWindowNs) ++over;
    marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(over));
  }

  [[nodiscard]] bool empty() const { return marks_.empty(); }
  [[nodiscard]] const Mark& begin() const { return marks_.front(); }
  [[nodiscard]] const Mark& latest() const { return marks_.back(); }
  // Returns the mark after which `value` grew first within the window, not before `from_ns`; `now`:
  // the current sums.
  template <typename Value>
  [[nodiscard]] const Mark& before(const Value& value, const Sums& now,
                                   std::int64_t from_ns) const {
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (marks_[i].time_ns < from_ns) continue;
      const Sums& next = i + 1 < marks_.size() ? marks_[i + 1].sums : now;
      if (value(next) != value(marks_[i].sums)) return marks_[i];
    }
    return marks_.back();
  }

 private:
  static constexpr std::int64_t kApart = kWindowNs / 16;
  std::vector<Mark> marks_;  // 17 at most
};

}  // namespace rpcrdma::rules
