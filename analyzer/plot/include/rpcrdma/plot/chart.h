// The input of the plots: plain numbers, whatever they measure.
//
// Values below zero are drawn as zero, those above 1e18 as 1e18; NaN is a gap. Texts may contain
// any bytes: the writers replace or escape what their output cannot represent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::plot {

struct Point {
  double x = 0;
  double y = 0;
  std::string note;  // SVG: tooltip
};

enum class Style : std::uint8_t {
  kLine,  // straight from point to point
  kStep,  // a point's value holds until the next point
  kArea,  // the same, filled down to zero
  kDots,  // points without lines
};

struct Series {
  std::string name;
  Style style = Style::kLine;
  std::vector<Point> points;  // in order of x
  bool hollow = false;        // SVG: rings in place of dots
};

// A part of an axis in which nothing happens. SVG draws it as a narrow band.
struct Cut {
  double from = 0;
  double to = 0;
};

// The x axis of pictures that stand below each other. Values outside are drawn at its ends.
struct Window {
  double begin = 0;
  double end = 1;
  std::vector<Cut> cuts = {};  // ascending, within begin and end
};

// Values over time, or over anything else.
struct Chart {
  std::string title;
  std::string description;  // one sentence, for screen readers
  Unit x_unit = Unit::kSeconds;
  Unit y_unit = Unit::kCount;
  bool y_log = false;
  std::optional<double> x_end;  // the axis extends to here even if the points do not
  std::vector<Series> series;
  std::optional<Window> window = std::nullopt;  // the axis, whatever the points are
  bool x_log = false;                           // SVG, without a window
};

struct Bar {
  std::string label;
  double value = 0;
  std::string note;  // shown after the value
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

// The number of occurrences of each value, over a logarithmic scale.
struct Histogram {
  std::string title;
  std::string description;
  Unit unit = Unit::kSeconds;
  std::vector<Bucket> buckets;  // of any width, in order
};

// The number of occurrences of each value, over time; values on a logarithmic scale.
struct HeatMap {
  std::string title;
  std::string description;
  Unit x_unit = Unit::kSeconds;
  Unit y_unit = Unit::kSeconds;
  std::vector<double> x;      // ascending edges of the columns: one more than columns
  std::vector<double> y;      // ascending edges of the rows
  std::vector<double> cells;  // column by column, each from the lowest row up
  std::optional<Window> window = std::nullopt;
};

struct SpanRow {
  std::string label;
  double low = 0;    // a dot
  double high = 0;   // the end of the bar that begins at the dot
  double most = 0;   // the end of a thin line
  std::string note;  // shown at the right
  bool marked = false;
};

// Ranges of positive values with a common logarithmic scale.
struct Spans {
  std::string title;
  std::string description;
  Unit unit = Unit::kSeconds;
  std::vector<SpanRow> rows;
};

struct Step {
  double begin = 0;
  double end = 0;
  std::size_t lane = 0;  // in Waterfall::lanes
  std::string note;      // SVG: tooltip
};

struct WaterfallRow {
  std::string label;
  double end = 0;           // the row is from 0 to here; what no step covers is hatched
  std::vector<Step> steps;  // in order of begin
  std::string note;         // shown at the right
};

// The steps of several items, each from its own begin on, over a common time. Every row has a
// narrow lane for each name.
struct Waterfall {
  std::string title;
  std::string description;
  Unit unit = Unit::kSeconds;
  std::vector<std::string> lanes;  // at most 6
  std::string unknown;             // what the hatched time is, for the legend
  std::vector<WaterfallRow> rows;
};

}  // namespace rpcrdma::plot
