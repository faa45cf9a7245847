// From values to places on an axis, and where its ticks are.
#pragma once

#include <vector>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::plot {

inline constexpr double kLargest = 1e18;
inline constexpr double kSmallestLog = 1e-12;  // a logarithmic axis begins here at the lowest

struct Scale {
  double low = 0;
  double high = 1;
  bool log = false;

  // 0 at `low`, 1 at `high`; beyond them no less and no more.
  [[nodiscard]] double at(double value) const;
};

// An axis for values from `low` to `high`, that begins and ends at round numbers; the ticks between
// are at most `most`, and at least two.
struct Axis {
  Scale scale;
  std::vector<double> ticks;
};
[[nodiscard]] Axis value_axis(Unit unit, double low, double high, bool log, int most);
// The same, but it begins and ends where the values do.
[[nodiscard]] Axis time_axis(Unit unit, double low, double high, int most);

}  // namespace rpcrdma::plot
