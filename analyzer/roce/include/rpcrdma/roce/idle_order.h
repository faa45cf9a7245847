// Chooses the connection to evict when there are too many: first those that are over, then the one
// that was idle longest, so that new traffic is always followed.
//
// Each connection is ordered by the time of its latest traffic when it was last queued; traffic
// does not touch the order. If the first connection has had traffic since, it is queued again. So
// each step is paid for by a packet or an event.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <utility>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::roce {

// A connection's place in the order, stored by its owner.
struct IdleKey {
  bool open = true;
  std::uint64_t last_frame = 0;
  std::uint32_t index = 0;
  friend auto operator<=>(const IdleKey&, const IdleKey&) = default;
};

class IdleOrder {
 public:
  [[nodiscard]] static bool is_open(const Connection& c) {
    return c.state < State::kRejected && !c.merged_away;
  }

  void add(const Connection& c, IdleKey& at) {
    at = key_of(c);
    keys_.insert(at);
  }
  // Called when the connection ended or has had traffic.
  void requeue(const Connection& c, IdleKey& at) {
    auto node = keys_.extract(at);
    at = key_of(c);
    node.value() = at;
    keys_.insert(std::move(node));
  }
  void erase(const IdleKey& at) { keys_.erase(at); }

  // Returns the connection to evict; there must be one. `find(index)` returns a reference to an
  // owner's connection, whose `idle` is its place.
  template <typename Find>
  auto& first(Find&& find) {
    for (;;) {
      auto& c = find(keys_.begin()->index);
      if (c.idle.last_frame == c.last_frame) return c;
      requeue(c, c.idle);
    }
  }

 private:
  [[nodiscard]] static IdleKey key_of(const Connection& c) {
    return {is_open(c), c.last_frame, c.index};
  }

  std::set<IdleKey> keys_;
};

}  // namespace rpcrdma::roce
