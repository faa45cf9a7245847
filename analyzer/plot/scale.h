// Maps values to positions on an axis, and places its ticks.
#pragma once

#include <vector>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

inline constexpr double kLargest = 1e18;
inline constexpr double kSmallestLog = 1e-12;  // the lowest start of a logarithmic axis

struct Scale {
  double low = 0;
  double high = 1;
  bool log = false;
  std::vector<Cut> cuts = {};  // of a linear scale; each is as wide as kCutShare of the rest

  // 0 at `low`, 1 at `high`; values beyond them are clamped.
  [[nodiscard]] double at(double value) const;
  // The value at a position.
  [[nodiscard]] double value(double position) const;
};
inline constexpr double kCutShare = 0.02;

// An axis for values from `low` to `high` that begins and ends at round numbers; it has at least
// two and at most `most` ticks; three at most if `most` is less and the axis is logarithmic in
// bytes.
struct Axis {
  Scale scale;
  std::vector<double> ticks;
};
[[nodiscard]] Axis value_axis(Unit unit, double low, double high, bool log, int most);
// The same, but the axis begins and ends at the values themselves.
[[nodiscard]] Axis time_axis(Unit unit, double low, double high, int most);
// The axis of a window. There are no ticks in its cuts.
[[nodiscard]] Axis window_axis(Unit unit, const Window& window, int most);

}  // namespace rpcrdma::plot
