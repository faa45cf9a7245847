// The latest events of a fleet. Bounded; an event that repeats is counted, not listed again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {

class EventLog {
 public:
  explicit EventLog(std::size_t most) : most_(most) {}

  void add(ViewEvent::Kind kind, std::int64_t wall_ns, const std::string& host, std::string text) {
    events_.push_back({kind, wall_ns, host, std::move(text)});
    if (events_.size() <= most_) return;
    events_.pop_front();
    ++dropped_;
  }
  // For what may happen again and again.
  void add_or_count(ViewEvent::Kind kind, std::int64_t wall_ns, const std::string& host,
                    const std::string& text) {
    const auto same = std::find_if(events_.begin(), events_.end(), [&](const ViewEvent& e) {
      return e.host == host && e.text == text;
    });
    if (same == events_.end()) return add(kind, wall_ns, host, text);
    ViewEvent again = std::move(*same);
    again.wall_ns = wall_ns;
    ++again.count;
    events_.erase(same);
    events_.push_back(std::move(again));
  }

  [[nodiscard]] std::vector<ViewEvent> latest_first() const {
    return {events_.rbegin(), events_.rend()};
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::size_t most_;
  std::deque<ViewEvent> events_;  // the oldest first
  std::uint64_t dropped_ = 0;
};

}  // namespace rpcrdma::fleet
