#include "text/time_window.h"

#include <algorithm>
#include <vector>

namespace rpcrdma::report {

namespace {

// A gap longer than this part of what is left of the axis is cut.
constexpr double kWorthACut = 0.2;

struct Gap {
  double from = 0;
  double to = 0;
  [[nodiscard]] double length() const { return to - from; }
};

class Timeline {
 public:
  explicit Timeline(const Report& r)
      : start_ns_(r.capture.first_ns), series_(r.traffic), end_(seconds(r.capture.last_ns)) {
    if (!(end_ > 0)) end_ = 1e-3;
  }

  [[nodiscard]] double end() const { return end_; }

  // Times without traffic, from one bin with traffic to the next.
  [[nodiscard]] std::vector<Gap> gaps(bool calls_at_end) const {
    std::vector<Gap> list;
    double quiet_since = 0;
    for (std::int64_t n = series_.first(); n <= series_.last(); ++n) {
      if (series_.bin(n) == TrafficBin{}) continue;
      const double begin = begin_of(n);
      if (begin > quiet_since && !answered_across(n, quiet_since)) {
        list.push_back({quiet_since, begin});
      }
      quiet_since = begin_of(n + 1);
    }
    if (end_ > quiet_since && !calls_at_end) list.push_back({quiet_since, end_});
    return list;
  }

 private:
  [[nodiscard]] double seconds(std::int64_t ns) const {
    return std::max(0.0, (static_cast<double>(ns) - static_cast<double>(start_ns_)) / 1e9);
  }
  [[nodiscard]] double begin_of(std::int64_t n) const {
    return std::min(seconds(n * series_.width_ns()), end_);
  }
  // Whether a Call that was sent before `time` was answered in bin `n` or later.
  [[nodiscard]] bool answered_across(std::int64_t n, double time) const {
    for (; n <= series_.last(); ++n) {
      const TrafficBin& b = series_.bin(n);
      if (b.latency_count == 0) continue;
      if (begin_of(n) - static_cast<double>(b.latency_max) / 1e9 < time) return true;
    }
    return false;
  }

  std::int64_t start_ns_;
  const TrafficSeries& series_;
  double end_;
};

}  // namespace

plot::Window time_window(const Report& report) {
  const Timeline timeline(report);
  plot::Window window{0, timeline.end(), {}};
  if (report.traffic.empty() || report.capture.last_ns <= report.capture.first_ns) return window;
  std::vector<Gap> gaps = timeline.gaps(!report.edges.open_calls.empty());
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& a, const Gap& b) { return a.length() > b.length(); });
  double left = window.end;
  for (const Gap& g : gaps) {
    if (window.cuts.size() == kMaxCuts || g.length() < kWorthACut * left) break;
    left -= g.length();
    window.cuts.push_back({g.from, g.to});
  }
  std::sort(window.cuts.begin(), window.cuts.end(),
            [](const plot::Cut& a, const plot::Cut& b) { return a.from < b.from; });
  return window;
}

}  // namespace rpcrdma::report
