#include "scale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rpcrdma::plot {

namespace {

// The length of the scale without its cuts.
double kept(const Scale& s) {
  double length = s.high - s.low;
  for (const Cut& c : s.cuts) length -= c.to - c.from;
  return length;
}

}  // namespace

double Scale::at(double value) const {
  if (log) {
    const double share =
        (std::log10(std::max(value, low)) - std::log10(low)) / (std::log10(high) - std::log10(low));
    return std::clamp(share, 0.0, 1.0);
  }
  double length = high - low;
  double at = value - low;
  if (!cuts.empty()) {
    const double rest = kept(*this);
    const double width = kCutShare * rest;
    length = rest + width * static_cast<double>(cuts.size());
    for (const Cut& c : cuts) {
      if (value <= c.from) break;
      const double whole = c.to - c.from;
      const double behind = std::min(value, c.to) - c.from;
      at -= behind * (1 - width / whole);
    }
  }
  return std::clamp(at / length, 0.0, 1.0);
}

double Scale::value(double position) const {
  if (log) return low * std::pow(high / low, position);
  if (cuts.empty()) return low + position * (high - low);
  const double rest = kept(*this);
  const double width = kCutShare * rest;
  double left = position * (rest + width * static_cast<double>(cuts.size()));
  double from = low;
  for (const Cut& c : cuts) {
    if (left <= c.from - from) break;
    left -= c.from - from;
    if (left <= width) return c.from + left / width * (c.to - c.from);
    left -= width;
    from = c.to;
  }
  return from + left;
}

namespace {

bool is_binary(Unit unit) {
  return unit == Unit::kBytes || unit == Unit::kBytesPerSecond;
}

// Returns the smallest round step that is at least `least`.
double round_step(Unit unit, double least) {
  // Clocks are not decimal.
  if (unit == Unit::kSeconds && least > 1) {
    for (const double step : {2., 5., 10., 15., 30., 60., 120., 300., 600., 900., 1800., 3600.,
                              7200., 10800., 21600., 43200., 86400.}) {
      if (step >= least * 0.999) return step;
    }
    return 86400 * round_step(Unit::kCount, least / 86400);
  }
  if (is_binary(unit) && least > 1) {
    return std::exp2(std::ceil(std::log2(least * 0.999)));
  }
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1., 2., 5., 10.}) {
    const double step = factor * power;
    // Counts are whole numbers.
    if (unit == Unit::kCount && step < 1) continue;
    if (step >= least * 0.999) return step;
  }
  return std::max(1.0, 10 * power);
}

// Ticks at powers of two: 1024 is round where the unit is KiB.
Axis binary_log_axis(double low, double high, int most) {
  const double bottom = std::log2(low) + 1e-9, top = std::log2(high) - 1e-9;
  // Three multiples of a large enough step cover any range; two do not if 1 lies between them.
  most = std::max(most, 3);
  int first = 0, last = 0, every = 0;
  do {
    ++every;
    first = every * static_cast<int>(std::floor(bottom / every));
    last = std::max(every * static_cast<int>(std::ceil(top / every)), first + every);
  } while ((last - first) / every + 1 > most);
  Axis axis{{std::exp2(first), std::exp2(last), true, {}}, {}};
  for (int power = first; power <= last; power += every) axis.ticks.push_back(std::exp2(power));
  return axis;
}

Axis log_axis(Unit unit, double low, double high, int most) {
  low = std::clamp(low, kSmallestLog, kLargest);
  high = std::clamp(high, low, kLargest * 10);
  if (is_binary(unit)) return binary_log_axis(low, high, most);
  auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (last == first) ++last;
  Axis axis{{std::pow(10.0, first), std::pow(10.0, last), true, {}}, {}};
  // With few decades there is room for 2 and 5 in each.
  if (3 * (last - first) + 1 <= most) {
    for (int decade = first; decade < last; ++decade) {
      for (const double factor : {1., 2., 5.})
        axis.ticks.push_back(factor * std::pow(10.0, decade));
    }
    axis.ticks.push_back(axis.scale.high);
    return axis;
  }
  const int every = std::max(1, (last - first + most - 1) / std::max(1, most - 1));
  for (int decade = first; decade <= last; decade += every) {
    axis.ticks.push_back(std::pow(10.0, decade));
  }
  return axis;
}

void fill_ticks(Axis& axis, double step) {
  const double first = std::ceil(axis.scale.low / step - 1e-9) + 0.0;  // avoids "-0"
  for (double i = first; i * step <= axis.scale.high * (1 + 1e-9); ++i) {
    axis.ticks.push_back(i * step);
    if (axis.ticks.size() >= 64) break;  // the step is below the precision of the values
  }
}

}  // namespace

Axis value_axis(Unit unit, double low, double high, bool log, int most) {
  most = std::max(most, 2);
  if (log) return log_axis(unit, low, high, most);
  high = std::clamp(high, 0.0, kLargest);
  if (high == 0) high = unit == Unit::kSeconds ? 1e-3 : 1;
  const double step = round_step(unit, high / (most - 1));
  Axis axis{{0, std::max(1.0, std::ceil(high / step - 1e-9)) * step, false, {}}, {}};
  fill_ticks(axis, step);
  return axis;
}

Axis time_axis(Unit unit, double low, double high, int most) {
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  // A range with nearly equal ends is treated as empty.
  if (!(high - low > std::max(std::abs(low), std::abs(high)) * 1e-12)) {
    high = low + std::max(1e-3, std::abs(low) * 1e-6);
  }
  Axis axis{{low, high, false, {}}, {}};
  fill_ticks(axis, round_step(unit, (high - low) / std::max(most, 2)));
  return axis;
}

Axis window_axis(Unit unit, const Window& window, int most) {
  Axis axis = time_axis(unit, window.begin, window.end, most);
  for (const Cut& c : window.cuts) {
    const double before = axis.scale.cuts.empty() ? axis.scale.low : axis.scale.cuts.back().to;
    if (c.from >= before && c.to > c.from && c.to <= axis.scale.high) {
      axis.scale.cuts.push_back(c);
    }
  }
  const std::vector<Cut>& cuts = axis.scale.cuts;
  if (cuts.empty()) return axis;
  const double rest = kept(axis.scale);
  if (!(rest > 0)) {
    axis.scale.cuts.clear();
    return axis;
  }
  const double step = round_step(unit, rest / std::max(most, 2));
  axis.ticks.clear();
  double from = axis.scale.low;
  const auto fill = [&](double to) {
    for (double i = std::ceil(from / step - 1e-9) + 0.0; i * step <= to; ++i) {
      if (axis.ticks.size() >= 64) return;
      axis.ticks.push_back(i * step);
    }
  };
  for (const Cut& c : cuts) {
    fill(c.from);
    from = c.to;
  }
  fill(axis.scale.high);
  return axis;
}

}  // namespace rpcrdma::plot
