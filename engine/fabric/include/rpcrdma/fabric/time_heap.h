// Numbers, each with a time, ordered by the earliest time. A binary heap in which an entry can be
// moved, so that each operation takes O(log n). Among equal times, the one set first comes first.
// It keeps a place for each number up to the greatest, so numbers should be small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::fabric {

class TimeHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] Time first_time() const { return heap_.empty() ? kNever : heap_.front().time; }
  // Must not be empty.
  [[nodiscard]] std::uint32_t first() const { return heap_.front().number; }

  // Numbers up to `count` - 1 need no memory afterwards.
  void reserve(std::size_t count) {
    if (count > heap_.capacity()) heap_.reserve(std::max(count, 2 * heap_.capacity()));
    if (count > places_.size()) places_.resize(count, kNowhere);
  }

  // Adds or moves an entry; kNever removes it. Setting the time it already has keeps its place.
  void set(std::uint32_t number, Time time) {
    if (number >= places_.size()) places_.resize(std::size_t{number} + 1, kNowhere);
    const std::size_t place = places_[number];
    if (time == kNever) {
      if (place != kNowhere) remove_at(place);
    } else if (place == kNowhere) {
      heap_.push_back({time, ++order_, number});
      places_[number] = heap_.size() - 1;
      rise(heap_.size() - 1);
    } else if (heap_[place].time != time) {
      heap_[place] = {time, ++order_, number};
      rise(place);
      sink(places_[number]);
    }
  }
  // Adds an entry or moves it to an earlier time; ignores a later time. For timers that every
  // message postpones: when the entry is due, its user checks whether it really is, and adds it
  // again if not.
  void hasten(std::uint32_t number, Time time) {
    const bool known = number < places_.size() && places_[number] != kNowhere;
    if (time < (known ? heap_[places_[number]].time : kNever)) set(number, time);
  }
  void remove(std::uint32_t number) { set(number, kNever); }

 private:
  struct Entry {
    Time time;
    std::uint64_t order;
    std::uint32_t number;

    [[nodiscard]] bool before(const Entry& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  void exchange(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    places_[heap_[a].number] = a;
    places_[heap_[b].number] = b;
  }
  void rise(std::size_t at) {
    for (std::size_t above; at != 0 && heap_[at].before(heap_[above = (at - 1) / 2]); at = above) {
      exchange(at, above);
    }
  }
  void sink(std::size_t at) {
    for (std::size_t below; (below = 2 * at + 1) < heap_.size(); at = below) {
      if (below + 1 < heap_.size() && heap_[below + 1].before(heap_[below])) ++below;
      if (!heap_[below].before(heap_[at])) return;
      exchange(at, below);
    }
  }
  void remove_at(std::size_t at) {
    exchange(at, heap_.size() - 1);
    places_[heap_.back().number] = kNowhere;
    heap_.pop_back();
    if (at == heap_.size()) return;
    const std::uint32_t moved = heap_[at].number;
    rise(at);
    sink(places_[moved]);
  }

  std::vector<Entry> heap_;
  std::vector<std::size_t> places_;  // by number
  std::uint64_t order_ = 0;
};

}  // namespace rpcrdma::fabric
