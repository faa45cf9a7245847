#include "time_range.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::gui {

void TimeRange::set_bounds(Span bounds) {
  if (bounds == bounds_) return;
  bounds_ = bounds;
  Q_EMIT bounds_changed();
}

void TimeRange::clear() {
  bounds_ = {};
  undo_.clear();
  redo_.clear();
  go(std::nullopt);
}

void TimeRange::set(Span range) {
  if (range.to_ns < range.from_ns) std::swap(range.from_ns, range.to_ns);
  range.from_ns = std::clamp(range.from_ns, bounds_.from_ns, bounds_.to_ns);
  range.to_ns = std::clamp(range.to_ns, bounds_.from_ns, bounds_.to_ns);
  const std::optional<Span> wanted = range == bounds_ ? std::nullopt : std::optional(range);
  if (wanted == range_) return;
  if (undo_.size() == kMostSteps) undo_.erase(undo_.begin());
  undo_.push_back(range_);
  redo_.clear();
  go(wanted);
}

void TimeRange::show_all() {
  if (range_) set(bounds_);
}

void TimeRange::undo() {
  if (undo_.empty()) return;
  redo_.push_back(range_);
  const auto before = undo_.back();
  undo_.pop_back();
  go(before);
}

void TimeRange::redo() {
  if (redo_.empty()) return;
  undo_.push_back(range_);
  const auto after = redo_.back();
  redo_.pop_back();
  go(after);
}

void TimeRange::go(std::optional<Span> range) {
  if (range == range_) return;
  range_ = range;
  Q_EMIT changed();
}

}  // namespace rpcrdma::gui
