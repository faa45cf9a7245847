// When something is due, of many: a heap that is not tidied when a deadline moves away, since most
// timers are set anew for each packet and hardly any runs out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

class Deadlines {
 public:
  // `known`: the one that is in the heap for `who` and not later than its deadline, or kNever; is
  // kept by who asks.
  void set(std::uint32_t who, fabric::Time when, fabric::Time& known) {
    if (when >= known) return;
    known = when;
    heap_.emplace_back(when, who);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  [[nodiscard]] fabric::Time next() const {
    return heap_.empty() ? fabric::kNever : heap_.front().first;
  }

  // The next that may be due: its `known` is to be set to kNever if it is `when`, and then what is
  // really due asked, and set again.
  [[nodiscard]] bool take(fabric::Time now, std::uint32_t& who, fabric::Time& when) {
    if (next() > now) return false;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    when = heap_.back().first;
    who = heap_.back().second;
    heap_.pop_back();
    return true;
  }

 private:
  std::vector<std::pair<fabric::Time, std::uint32_t>> heap_;
};

}  // namespace rpcrdma::soft
