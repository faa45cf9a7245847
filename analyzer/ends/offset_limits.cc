// Finds which limits belong together, by majority: in a window of few limits, the offset is where
// most of them agree (Marzullo's algorithm, with room for drift), and where two windows cannot have
// the same clock it has jumped between them.
#include "offset_limits.h"

#include <algorithm>
#include <cmath>

namespace rpcrdma::ends {
namespace {

constexpr std::size_t kWindow = 64;
constexpr std::size_t kSmallestWindow = 16;

struct Window {
  std::size_t begin = 0, end = 0;
  std::int64_t centre_ns = 0;
  std::int64_t least = kEarliest, most = kLatest;  // of the offset at the centre
  bool mixed = false;  // too many contradict: no one clock for all of it
};

std::int64_t room_for_drift(std::int64_t a_ns, std::int64_t b_ns, double most_drift) {
  const double apart = std::abs(static_cast<double>(a_ns) - static_cast<double>(b_ns));
  return saturating_round(std::ceil(apart * most_drift));
}

// The limit as it holds at another time, where it says less.
std::int64_t at(const OffsetLimit& limit, std::int64_t time_ns, double most_drift) {
  const std::int64_t room = room_for_drift(limit.at_ns, time_ns, most_drift);
  return limit.at_least ? saturating_subtract(limit.offset_ns, room)
                        : saturating_add(limit.offset_ns, room);
}

bool agrees(const OffsetLimit& limit, const Window& window, double most_drift) {
  const std::int64_t value = at(limit, window.centre_ns, most_drift);
  return limit.at_least ? value <= window.most : value >= window.least;
}

class Finder {
 public:
  Finder(std::span<OffsetLimit> limits, double most_drift)
      : limits_(limits), most_drift_(most_drift) {}

  Regimes find() {
    for (std::size_t begin = 0; begin < limits_.size();) {
      const std::size_t left = limits_.size() - begin;
      const std::size_t size = left < kWindow + kWindow / 2 ? left : kWindow;
      add_window(begin, begin + size);
      begin += size;
    }
    leave_out_islands();
    join_windows();
    for (Regime& regime : found_.regimes) trim(regime);
    std::erase_if(found_.regimes, [](const Regime& regime) { return regime.begin >= regime.end; });
    return std::move(found_);
  }

 private:
  Window measure(std::size_t begin, std::size_t end) {
    Window window;
    window.begin = begin;
    window.end = end;
    window.centre_ns = limits_[begin + (end - begin) / 2].at_ns;
    lower_.clear();
    upper_.clear();
    for (const OffsetLimit& limit : limits_.subspan(begin, end - begin)) {
      (limit.at_least ? lower_ : upper_).push_back(at(limit, window.centre_ns, most_drift_));
    }
    std::sort(lower_.begin(), lower_.end());
    std::sort(upper_.begin(), upper_.end());
    // The offset at which most limits hold: below all of them, or at one that holds from below.
    std::size_t best = upper_.size();
    std::size_t first_upper = 0, best_lower = 0, best_upper = 0;
    for (std::size_t lower = 0; lower < lower_.size(); ++lower) {
      while (first_upper < upper_.size() && upper_[first_upper] < lower_[lower]) ++first_upper;
      const std::size_t holding = lower + 1 + upper_.size() - first_upper;
      if (holding < best) continue;
      best = holding;
      best_lower = lower + 1;
      best_upper = first_upper;
    }
    if (best_lower > 0) window.least = lower_[best_lower - 1];
    if (best_upper < upper_.size()) window.most = upper_[best_upper];
    const auto too_many = [](std::size_t wrong, std::size_t all) {
      return wrong > 1 && wrong > all / 5;
    };
    window.mixed =
        too_many(lower_.size() - best_lower, lower_.size()) || too_many(best_upper, upper_.size());
    return window;
  }

  void add_window(std::size_t begin, std::size_t end) {
    const Window window = measure(begin, end);
    if (window.mixed && end - begin >= 2 * kSmallestWindow) {
      const std::size_t middle = begin + (end - begin) / 2;
      add_window(begin, middle);
      add_window(middle, end);
      return;
    }
    for (OffsetLimit& limit : limits_.subspan(begin, end - begin)) {
      limit.standing = window.mixed                         ? Standing::kWithheld
                       : agrees(limit, window, most_drift_) ? Standing::kUsed
                                                            : Standing::kContradicts;
    }
    if (!window.mixed) windows_.push_back(window);
  }

  // Few limits that agree by chance, among those that do not.
  void leave_out_islands() {
    std::vector<Window> kept;
    for (std::size_t i = 0; i < windows_.size();) {
      std::size_t end = i + 1;
      while (end < windows_.size() && windows_[end].begin == windows_[end - 1].end &&
             compatible(windows_[end - 1], windows_[end])) {
        ++end;
      }
      const std::size_t from = windows_[i].begin, until = windows_[end - 1].end;
      const bool cut_off =
          (from > 0 && limits_[from - 1].standing == Standing::kWithheld) ||
          (until < limits_.size() && limits_[until].standing == Standing::kWithheld);
      if (cut_off && until - from < kWindow) {
        for (std::size_t k = from; k < until; ++k) limits_[k].standing = Standing::kWithheld;
      } else {
        kept.insert(kept.end(), windows_.begin() + static_cast<std::ptrdiff_t>(i),
                    windows_.begin() + static_cast<std::ptrdiff_t>(end));
      }
      i = end;
    }
    windows_ = std::move(kept);
  }

  bool compatible(const Window& a, const Window& b) const {
    const std::int64_t room = room_for_drift(a.centre_ns, b.centre_ns, most_drift_);
    return b.least <= saturating_add(a.most, room) && a.least <= saturating_add(b.most, room);
  }

  void join_windows() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const Window& window = windows_[i];
      if (i == 0) {
        found_.regimes.push_back({window.begin, window.end});
        continue;
      }
      const Window& before = windows_[i - 1];
      Regime& regime = found_.regimes.back();
      const bool same = compatible(before, window);
      if (same && before.end == window.begin) {
        regime.end = window.end;
        continue;
      }
      Regime next{window.begin, window.end};
      if (!same) {
        ++found_.jumps;
        find_jump(before, window, regime, next);
      }
      found_.regimes.push_back(next);
    }
  }

  // Divides the limits of two windows, and those between, where the fewest contradict. Limits that
  // would do on either side are withheld: the clock jumped somewhere among them.
  void find_jump(const Window& a, const Window& b, Regime& left, Regime& right) {
    const std::size_t begin = std::max(a.begin, left.begin), count = b.end - begin;
    std::vector<std::size_t> cost(count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (!agrees(limits_[begin + i], b, most_drift_)) ++cost[0];
    }
    for (std::size_t i = 0; i < count; ++i) {
      cost[i + 1] = cost[i];
      if (!agrees(limits_[begin + i], b, most_drift_)) --cost[i + 1];
      if (!agrees(limits_[begin + i], a, most_drift_)) ++cost[i + 1];
    }
    const auto least = std::min_element(cost.begin(), cost.end());
    if (*least > 1 + count / 10) return;  // many jumps, or times that come twice
    auto first = least, last = least;
    while (first != cost.begin() && *(first - 1) <= *least + 1) --first;
    while (last + 1 != cost.end() && *(last + 1) <= *least + 1) ++last;
    left.end = begin + static_cast<std::size_t>(first - cost.begin());
    right.begin = begin + static_cast<std::size_t>(last - cost.begin());
    for (std::size_t i = begin; i < b.end; ++i) {
      limits_[i].standing = Standing::kWithheld;
      if (i >= left.end && i < right.begin) continue;
      const bool used = agrees(limits_[i], i < left.end ? a : b, most_drift_);
      limits_[i].standing = used ? Standing::kUsed : Standing::kContradicts;
    }
  }

  // A jump shortly before the end, or after the beginning, leaves too few limits for a window of
  // their own: those of one direction all contradict, those of the other say nothing.
  void trim(Regime& regime) const {
    const std::size_t size = regime.end - regime.begin;
    const std::size_t last = trimmed(size, [&](std::size_t i) { return regime.end - 1 - i; });
    const std::size_t first = trimmed(size, [&](std::size_t i) { return regime.begin + i; });
    regime.end -= last;
    regime.begin = std::min(regime.begin + first, regime.end);
  }

  // How many limits to leave out, from where `index` begins to count.
  template <typename Index>
  std::size_t trimmed(std::size_t size, const Index& index) const {
    std::size_t wrong[2] = {0, 0};
    bool open[2] = {true, true};
    std::size_t out = 0;
    for (std::size_t i = 0; i < size && (open[0] || open[1]); ++i) {
      const OffsetLimit& limit = limits_[index(i)];
      const std::size_t direction = limit.at_least ? 1 : 0;
      if (!open[direction]) continue;
      if (limit.standing == Standing::kContradicts) {
        ++wrong[direction];
        continue;
      }
      // From the last one that holds, limits of the other direction may be of either side.
      open[direction] = false;
      if (wrong[direction] >= 3) out = std::max(out, i);
    }
    return out;
  }

  std::span<OffsetLimit> limits_;
  double most_drift_;
  std::vector<std::int64_t> lower_, upper_;
  std::vector<Window> windows_;
  Regimes found_;
};

}  // namespace

std::int64_t saturating_round(double value) {
  if (!(value > -9.2e18)) return kEarliest;  // NaN, too
  if (!(value < 9.2e18)) return kLatest;
  return std::llround(value);
}

Regimes find_regimes(std::span<OffsetLimit> limits, double most_drift) {
  return Finder(limits, most_drift).find();
}

}  // namespace rpcrdma::ends
