// Segments that acknowledge what the capture has not shown yet. Either the capture lost it, or the
// capture shows the two directions of a connection out of order: what a host sends and what it
// receives often come from different queues. Such a segment and those behind it wait a little for
// what they acknowledge.
#pragma once

#include "tcp_segment.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace rpcrdma::iwarp {

class EarlySegments {
 public:
  static constexpr std::int64_t kWait = 3'000'000;  // ns
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = 256U << 10;

  struct Early {
    std::size_t from = 0;  // the end that sent it
    TcpSegment segment;    // its payload is `bytes`
    std::vector<std::uint8_t> bytes;
  };

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const Early& front() const { return waiting_.front(); }
  // A segment of this end waits: later ones of the same end must wait behind it.
  [[nodiscard]] bool from(std::size_t end) const { return of_end_[end] != 0; }
  // The first has waited long enough at `now_ns`, or too many wait.
  [[nodiscard]] bool expired(std::int64_t now_ns) const {
    return waiting_.size() > kMost || bytes_ > kMostBytes ||
           now_ns - waiting_.front().segment.meta.time_ns > kWait;
  }

  void add(std::size_t end, const TcpSegment& s) {
    waiting_.push_back({end, s, {s.payload.begin(), s.payload.end()}});
    waiting_.back().segment.payload = waiting_.back().bytes;
    bytes_ += cost(waiting_.back());
    ++of_end_[end];
  }
  [[nodiscard]] Early take() {
    Early first = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= cost(first);
    --of_end_[first.from];
    return first;
  }

 private:
  static std::size_t cost(const Early& e) { return sizeof(Early) + e.bytes.size(); }

  std::deque<Early> waiting_;
  std::size_t of_end_[2] = {0, 0};
  std::size_t bytes_ = 0;
};

}  // namespace rpcrdma::iwarp
