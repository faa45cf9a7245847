// Tracks which parts of a range have arrived: sorted, disjoint, half-open intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace rpcrdma::roce {

// Designed for a few intervals: packets arrive nearly in order, so there is usually one. The number
// of intervals is bounded; a further one is refused, as if the packet had not been seen.
class IntervalSet {
 public:
  static constexpr std::size_t kMaxIntervals = 64;

  // Adds [begin, end); true if any part of it is new and was kept.
  bool add(std::uint64_t begin, std::uint64_t end);

  [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t covered() const;
  [[nodiscard]] std::size_t intervals() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::vector<Range> ranges_;
};

}  // namespace rpcrdma::roce
