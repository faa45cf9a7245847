// Completions that wait to be taken. There are never more of them than work requests were posted.
#pragma once

#include "ring.h"

#include <limits>
#include <span>

#include <rpcrdma/fabric/work.h>

namespace rpcrdma::soft {

class Completions {
 public:
  // The one that push() adds, to be filled in place.
  [[nodiscard]] fabric::Completion& next() {
    fabric::Completion& c = waiting_.next();
    c = {};
    return c;
  }
  void push() { waiting_.push(); }

  [[nodiscard]] std::size_t take(std::span<fabric::Completion> out) {
    std::size_t n = 0;
    for (; n < out.size() && !waiting_.empty(); ++n) {
      out[n] = waiting_.front();
      waiting_.pop();
    }
    return n;
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  Ring<fabric::Completion> waiting_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace rpcrdma::soft
