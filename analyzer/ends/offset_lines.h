// All lines that the offset of a clock may follow over time, given limits from below and above.
#pragma once

#include "offset_limits.h"

#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::ends {

struct OffsetRange {
  double least = 0, most = 0;  // relative to the origin's offset
};

// Times are relative to an origin, and so are offsets: those of the day do not fit a double.
struct OffsetOrigin {
  std::int64_t at_ns = 0, offset_ns = 0;
};

class OffsetLines {
 public:
  // The lines that no used limit excludes and that are no steeper than `most_drift`. There must be
  // limits of both directions. Linear in their number.
  OffsetLines(std::span<const OffsetLimit> limits, OffsetOrigin origin, double most_drift);

  [[nodiscard]] bool empty() const { return corners_.empty(); }
  // Unless empty: where the lines are at a time; and those of them that pass through `offset` at
  // `given_ns`, which must be within the range there.
  [[nodiscard]] OffsetRange at(std::int64_t time_ns) const;
  [[nodiscard]] OffsetRange at(std::int64_t time_ns, std::int64_t given_ns, double offset) const;

  // If empty: the limits that contradict each other most, as indices into `limits`.
  [[nodiscard]] std::span<const std::size_t> culprits() const { return culprits_; }
  // If empty: by how much every line is wrong at least.
  [[nodiscard]] double excess() const { return excess_; }

 private:
  struct Corner {
    double slope, least, most;  // of the lines with this slope, their values at the origin
  };

  double time_of(std::int64_t time_ns) const;

  OffsetOrigin origin_;
  std::vector<Corner> corners_;  // by slope
  std::vector<std::size_t> culprits_;
  double excess_ = 0;
};

}  // namespace rpcrdma::ends
