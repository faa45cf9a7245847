// When there are more connections than are followed: those that are over go first, then the one
// that was idle longest, so that new traffic is always followed.
//
// Every connection stands in that order by what came on it last at the time when it was put there:
// traffic does not touch the order. Whoever is first and has had traffic since is put where it
// belongs. So each step is paid for by a packet or an event.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <utility>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::roce {

// A connection's place, which its owner keeps beside it.
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
  // It ended, or has had traffic.
  void requeue(const Connection& c, IdleKey& at) {
    auto node = keys_.extract(at);
    at = key_of(c);
    node.value() = at;
    keys_.insert(std::move(node));
  }
  void erase(const IdleKey& at) { keys_.erase(at); }

  // The one to let go; there must be one. `find(index)` gives a reference to an owner's
  // connection, whose `idle` is its place.
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
