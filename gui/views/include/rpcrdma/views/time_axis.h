// Ticks of time axes, at round times, written as all views write times.
#pragma once

#include <QFontMetrics>
#include <QString>
#include <cstdint>
#include <functional>
#include <vector>

namespace rpcrdma::gui {

// How a view writes times.
struct TimeNotation {
  // Writes a moment, nanoseconds since 1970: "12.345678", "08:15:04.123456".
  std::function<QString(std::int64_t)> write;
  // Round times are multiples since this moment.
  std::int64_t origin_ns = 0;
  QString unit;  // written on axes behind each time: " s"
};

// Returns the step of 1, 2 or 5 times a power of ten that divides `range` into at most `most`
// parts.
[[nodiscard]] double step_of(double range, double most);

struct TimeTick {
  int x = 0;     // of the tick
  int left = 0;  // of its label
  std::int64_t ns = 0;
  QString text;
};

// A range of time, `from_ns` to `to_ns`, over the pixels from `left` on, `width` of them.
struct TimeScale {
  std::int64_t from_ns = 0, to_ns = 0;
  int left = 0, width = 1;

  [[nodiscard]] int x_of(std::int64_t ns) const;  // limited to just outside the pixels
  [[nodiscard]] std::int64_t time_at(int x) const;
};

// Returns ticks whose labels do not overlap and stay between 0 and `right`, without zeros that none
// of them needs.
[[nodiscard]] std::vector<TimeTick> time_ticks(const TimeScale& scale, const TimeNotation& notation,
                                               int right, const QFontMetrics& metrics);

}  // namespace rpcrdma::gui
