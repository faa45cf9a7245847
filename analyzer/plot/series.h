// Projects a series onto the columns of a picture.
#pragma once

#include "scale.h"

#include <limits>
#include <vector>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

// The lowest and highest value in a column; NaN if it has none.
struct Extent {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  [[nodiscard]] bool any() const { return low <= high; }
};

// Takes time linear in the points and the columns.
[[nodiscard]] std::vector<Extent> columns(const Series& series, const Scale& x, std::size_t count);

// The range that all series of a chart cover.
struct Range {
  Extent x, y;
  double y_positive = 0;  // the lowest value above zero; 0 if there is none
};
[[nodiscard]] Range range_of(const Chart& chart);

}  // namespace rpcrdma::plot
