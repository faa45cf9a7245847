#include <algorithm>
#include <cmath>

#include <rpcrdma/views/time_axis.h>

namespace rpcrdma::gui {

namespace {

constexpr std::int64_t kLeastStep = 1000;  // ns: times have six digits

// The number of digits behind the point that a multiple of `step_ns` needs.
int digits_of(std::int64_t step_ns) {
  int digits = 9;
  while (digits > 0 && step_ns % 10 == 0) {
    step_ns /= 10;
    --digits;
  }
  return std::min(digits, 6);
}

// Cuts the digits that a label does not need: "0.200000" is "0.2".
QString shortened(QString text, int digits) {
  const auto point = text.lastIndexOf('.');
  if (point < 0) return text;
  while (text.size() > point + 1 + digits && text.endsWith('0')) text.chop(1);
  if (text.endsWith('.')) text.chop(1);
  return text;
}

}  // namespace

double step_of(double range, double most) {
  const double rough = range / std::max(1.0, most);
  const double power = std::pow(10.0, std::floor(std::log10(std::max(rough, 1e-12))));
  for (const double f : {1.0, 2.0, 5.0}) {
    if (f * power >= rough) return f * power;
  }
  return 10 * power;
}

int TimeScale::x_of(std::int64_t ns) const {
  // Times count from 1970: only differences fit a double.
  const double part = static_cast<double>(ns - from_ns) /
                      static_cast<double>(std::max<std::int64_t>(1, to_ns - from_ns));
  return left + static_cast<int>(std::floor(std::clamp(part, -0.1, 1.1) * width));
}

std::int64_t TimeScale::time_at(int x) const {
  const double part = static_cast<double>(x - left) / std::max(1, width);
  return from_ns + std::llround(part * static_cast<double>(to_ns - from_ns));
}

std::vector<TimeTick> time_ticks(const TimeScale& scale, const TimeNotation& notation, int right,
                                 const QFontMetrics& metrics) {
  std::vector<TimeTick> ticks;
  const auto span = static_cast<double>(scale.to_ns - scale.from_ns);
  if (span <= 0 || scale.width <= 0 || !notation.write) return ticks;
  // A finer step has longer labels, so the longest label limits the number of steps.
  std::int64_t step = 0;
  int digits = 0;
  for (int most = std::max(1, scale.width / (4 * metrics.averageCharWidth())); most > 0; --most) {
    step = std::max(kLeastStep, static_cast<std::int64_t>(step_of(span, most) + 0.5));
    digits = digits_of(step);
    const int wide = metrics.horizontalAdvance(shortened(notation.write(scale.to_ns), digits) + notation.unit) + 20;
    if (static_cast<double>(step) / span * scale.width >= wide) break;
  }
  const std::int64_t since = scale.from_ns - notation.origin_ns;
  std::int64_t n = since / step;
  if (n * step < since) ++n;
  int free = 0;
  for (; n * step <= scale.to_ns - notation.origin_ns; ++n) {
    TimeTick tick;
    tick.ns = notation.origin_ns + n * step;
    tick.x = scale.x_of(tick.ns);
    tick.text = shortened(notation.write(tick.ns), digits) + notation.unit;
    const int wide = metrics.horizontalAdvance(tick.text);
    tick.left = std::clamp(tick.x - wide / 2, 0, std::max(0, right - wide));
    if (!ticks.empty() && tick.left < free) continue;
    free = tick.left + wide + 6;
    ticks.push_back(std::move(tick));
  }
  return ticks;
}

}  // namespace rpcrdma::gui
