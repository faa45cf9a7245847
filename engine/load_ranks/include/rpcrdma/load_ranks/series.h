// What a load did over time, in windows that are aligned on the common start. Bounded: the windows
// of a long load become wider. Merging is exact, associative and commutative.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load_ranks {

struct Window {
  std::uint64_t calls = 0;   // with a correct answer
  std::uint64_t errors = 0;  // failed, or with wrong data
  std::uint64_t bytes = 0;
  std::uint64_t max_ns = 0;  // longest latency; 0 without calls

  void merge(const Window& other) {
    calls += other.calls;
    errors += other.errors;
    bytes += other.bytes;
    max_ns = std::max(max_ns, other.max_ns);
  }
  bool operator==(const Window&) const = default;
};

inline constexpr std::size_t kMostWindows = 1024;
// Length of the narrowest windows. Wider ones last a power of two times that.
inline constexpr fabric::Time kNarrowestWindow = fabric::kSecond;
inline constexpr unsigned kMaxWindowShift = 22;

// T has merge().
template <typename T>
class BasicSeries {
 public:
  // Adds what happened in second `index` after the common start. A later second than the widest
  // windows reach (136 years) counts in the last one.
  void add(std::uint64_t index, const T& what) {
    index = std::min(index, (std::uint64_t{kMostWindows} << kMaxWindowShift) - 1);
    while ((index >> shift_) >= kMostWindows) widen(shift_ + 1);
    const auto at = static_cast<std::size_t>(index >> shift_);
    if (at >= windows_.size()) windows_.resize(at + 1);
    windows_[at].merge(what);
  }
  void merge(const BasicSeries& other) {
    if (other.windows_.empty()) return;
    widen(other.shift_);
    const std::size_t reach =
        (other.windows_.size() - 1) >> (shift_ - std::min(shift_, other.shift_));
    if (reach >= windows_.size()) windows_.resize(reach + 1);
    for (std::size_t i = 0; i < other.windows_.size(); ++i) {
      windows_[i >> (shift_ - other.shift_)].merge(other.windows_[i]);
    }
  }
  // Makes the windows at least 2^shift seconds wide. `shift`: at most kMaxWindowShift.
  void widen(unsigned shift) {
    if (shift <= shift_) return;
    std::vector<T> wider;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const std::size_t at = i >> (shift - shift_);
      if (at >= wider.size()) wider.resize(at + 1);
      wider[at].merge(windows_[i]);
    }
    windows_ = std::move(wider);
    shift_ = shift;
  }

  // A window lasts 2^shift() seconds.
  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] fabric::Time width() const { return kNarrowestWindow << shift_; }
  // From the start on, up to the last that has something.
  [[nodiscard]] const std::vector<T>& windows() const { return windows_; }

  // For decoding. Returns false if no series has these parts.
  [[nodiscard]] bool restore(unsigned shift, std::vector<T> windows) {
    if (shift > kMaxWindowShift || windows.size() > kMostWindows) return false;
    shift_ = shift;
    windows_ = std::move(windows);
    return true;
  }

  bool operator==(const BasicSeries&) const = default;

 private:
  unsigned shift_ = 0;
  std::vector<T> windows_;
};

using Series = BasicSeries<Window>;
using LatencySeries = BasicSeries<base::CompactHistogram>;

}  // namespace rpcrdma::load_ranks
