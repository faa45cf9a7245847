// A line a + b t lies above all limits from below if a is at least the largest L - b t: for each
// slope that is one corner of their upper hull. With b, this corner moves along the hull, and the
// same holds for the limits from above. One walk along both hulls gives the polygon of all (b, a).
#include "offset_lines.h"

#include <algorithm>
#include <limits>

namespace rpcrdma::ends {
namespace {

struct HullPoint {
  double time, offset;
  std::size_t index;
};

// The upper hull for limits from below, the lower hull for limits from above: of those that are
// used, in order of time.
std::vector<HullPoint> hull_of(std::span<const OffsetLimit> limits, bool at_least,
                               OffsetOrigin origin) {
  const double sign = at_least ? 1 : -1;
  std::vector<HullPoint> hull;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const OffsetLimit& limit = limits[i];
    if (limit.at_least != at_least || limit.standing != Standing::kUsed) continue;
    const HullPoint point{
        static_cast<double>(saturating_subtract(limit.at_ns, origin.at_ns)),
        static_cast<double>(saturating_subtract(limit.offset_ns, origin.offset_ns)), i};
    if (!hull.empty() && hull.back().time >= point.time) {
      if (sign * hull.back().offset >= sign * point.offset) continue;
      hull.pop_back();
    }
    while (hull.size() >= 2) {
      const HullPoint& a = hull[hull.size() - 2];
      const HullPoint& b = hull.back();
      const double turn = (b.time - a.time) * (point.offset - a.offset) -
                          (b.offset - a.offset) * (point.time - a.time);
      if (sign * turn < 0) break;
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

double slope_between(const HullPoint& a, const HullPoint& b) {
  return (b.offset - a.offset) / (b.time - a.time);
}

double zero_between(double a, double value_a, double b, double value_b) {
  return a + (b - a) * (value_a / (value_a - value_b));
}

}  // namespace

OffsetLines::OffsetLines(std::span<const OffsetLimit> limits, OffsetOrigin origin,
                         double most_drift)
    : origin_(origin) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<HullPoint> lower = hull_of(limits, true, origin);
  const std::vector<HullPoint> upper = hull_of(limits, false, origin);
  if (lower.empty() || upper.empty()) return;

  // At the least slope the last corners count that the hulls reach with a lower slope than it.
  std::size_t low = lower.size() - 1, high = 0;
  const auto next_low = [&] {
    return low > 0 ? slope_between(lower[low - 1], lower[low]) : kNever;
  };
  const auto next_high = [&] {
    return high + 1 < upper.size() ? slope_between(upper[high], upper[high + 1]) : kNever;
  };
  while (next_low() <= -most_drift) --low;
  while (next_high() <= -most_drift) ++high;

  excess_ = kNever;
  double slope = -most_drift;
  Corner before{};
  double excess_before = 0;
  for (bool first = true;; first = false) {
    const Corner corner{slope, lower[low].offset - slope * lower[low].time,
                        upper[high].offset - slope * upper[high].time};
    const double excess = corner.least - corner.most;
    if (!first && (excess > 0) != (excess_before > 0)) {
      const double zero = zero_between(before.slope, excess_before, slope, excess);
      const double part = (zero - before.slope) / (slope - before.slope);
      const double value = before.least + (corner.least - before.least) * part;
      corners_.push_back({zero, value, value});
    }
    if (excess <= 0) corners_.push_back(corner);
    if (excess < excess_) {
      excess_ = excess;
      culprits_ = {lower[low].index, upper[high].index};
      if (low + 1 < lower.size()) culprits_.push_back(lower[low + 1].index);
      if (low > 0) culprits_.push_back(lower[low - 1].index);
      if (high > 0) culprits_.push_back(upper[high - 1].index);
      if (high + 1 < upper.size()) culprits_.push_back(upper[high + 1].index);
    }
    before = corner;
    excess_before = excess;
    if (!(slope < most_drift)) break;
    const double to_low = next_low(), to_high = next_high();
    slope = std::max(slope, std::min({to_low, to_high, most_drift}));
    if (to_low <= slope) --low;
    if (to_high <= slope) ++high;
  }
}

double OffsetLines::time_of(std::int64_t time_ns) const {
  return static_cast<double>(saturating_subtract(time_ns, origin_.at_ns));
}

OffsetRange OffsetLines::at(std::int64_t time_ns) const {
  const double time = time_of(time_ns);
  OffsetRange range{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  for (const Corner& corner : corners_) {
    range.least = std::min(range.least, corner.least + corner.slope * time);
    range.most = std::max(range.most, corner.most + corner.slope * time);
  }
  return range;
}

OffsetRange OffsetLines::at(std::int64_t time_ns, std::int64_t given_ns, double offset) const {
  const double given = time_of(given_ns);
  double least = corners_.front().slope, most = corners_.back().slope;
  // The slopes with which the line through the point is not below the limits: what it exceeds them
  // by is convex in the slope, so they are one interval.
  const auto restrict_to = [&](const auto& below) {
    for (std::size_t i = 1; i < corners_.size(); ++i) {
      const Corner& a = corners_[i - 1];
      const Corner& b = corners_[i];
      const double below_a = below(a), below_b = below(b);
      if ((below_a > 0) == (below_b > 0)) continue;
      const double zero = zero_between(a.slope, below_a, b.slope, below_b);
      if (below_a > 0) {
        least = std::max(least, zero);
      } else {
        most = std::min(most, zero);
      }
    }
  };
  restrict_to([&](const Corner& corner) { return corner.least + corner.slope * given - offset; });
  restrict_to([&](const Corner& corner) { return offset - corner.most - corner.slope * given; });
  const double apart = time_of(time_ns) - given;
  const double a = offset + least * apart, b = offset + most * apart;
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace rpcrdma::ends
