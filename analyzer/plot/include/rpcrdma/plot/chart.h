// What is to be drawn: plain numbers, whatever they are of.
//
// Values below zero are drawn as zero, those beyond 1e18 as 1e18; what is no number is a gap. Every
// text may hold any bytes: the writers replace or escape what their output cannot hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::plot {

struct Point {
  double x = 0;
  double y = 0;
  std::string note;  // SVG: shown when pointed at
};

enum class Style : std::uint8_t {
  kLine,  // straight from point to point
  kStep,  // a point's value holds until the next point
  kArea,  // the same, filled down to zero
  kDots,  // the points alone
};

struct Series {
  std::string name;
  Style style = Style::kLine;
  std::vector<Point> points;  // in order of x
};

// Values over time, or over anything else.
struct Chart {
  std::string title;
  std::string description;  // one sentence for those who do not see the picture
  Unit x_unit = Unit::kSeconds;
  Unit y_unit = Unit::kCount;
  bool y_log = false;
  std::optional<double> x_end;  // the axis goes so far, though the points do not
  std::vector<Series> series;
};

struct Bar {
  std::string label;
  double value = 0;
  std::string note;  // behind the value
};

// Horizontal bars with a common scale.
struct Bars {
  std::string title;
  std::string description;
  Unit unit = Unit::kCount;
  std::vector<Bar> bars;
};

struct Bucket {
  double low = 0;
  double high = 0;
  std::uint64_t count = 0;
};

// How often each value occurs, over a logarithmic scale.
struct Histogram {
  std::string title;
  std::string description;
  Unit unit = Unit::kSeconds;
  std::vector<Bucket> buckets;  // of any width, in order
};

// How often each value occurs, over time; values on a logarithmic scale.
struct HeatMap {
  std::string title;
  std::string description;
  Unit x_unit = Unit::kSeconds;
  Unit y_unit = Unit::kSeconds;
  std::vector<double> x;      // the columns' edges, rising: one more than columns
  std::vector<double> y;      // the rows' edges, rising
  std::vector<double> cells;  // column by column, in each from the lowest row
};

}  // namespace rpcrdma::plot
