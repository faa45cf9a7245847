// Measures how often a state came and how long it lasted.
#pragma once

#include <cstdint>

#include <rpcrdma/mounts/mounts.h>

namespace rpcrdma::mounts {

class Spell {
 public:
  void set(bool on, std::int64_t now) {
    if (on == on_) return;
    on_ = on;
    if (on) {
      ++total_.count;
      since_ = now;
    } else {
      if (now > since_) total_.ns += static_cast<std::uint64_t>(now - since_);
    }
  }
  // The sums as if the state ended at `now`.
  [[nodiscard]] Spells until(std::int64_t now) const {
    Spell ended = *this;
    ended.set(false, now);
    return ended.total_;
  }

 private:
  Spells total_;
  std::int64_t since_ = 0;
  bool on_ = false;
};

}  // namespace rpcrdma::mounts
