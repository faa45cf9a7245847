// A queue of completions that the owner has not polled yet. It never holds more than the work
// requests posted. A provider that reserves a place with promise() when it posts needs no memory
// when the request completes or fails.
#pragma once

#include <limits>
#include <span>

#include <rpcrdma/fabric/ring.h>
#include <rpcrdma/fabric/work.h>

namespace rpcrdma::fabric {

class Completions {
 public:
  // Reserves a place for the completion of a work request that is being posted.
  void promise() {
    constexpr std::size_t kInTheMaking = 1;  // next() without its push()
    waiting_.reserve(waiting_.size() + promised_ + 1 + kInTheMaking);
    ++promised_;
  }
  // Ends `count` reservations: the completions are pushed now, or never.
  void redeem(std::size_t count = 1) { promised_ -= count; }

  // Returns the completion that push() will add, to be filled in place. `owner` is the provider's
  // number for the connection, not 0.
  [[nodiscard]] Completion& next(std::uint32_t owner) {
    Waiting& w = waiting_.next();
    w.completion = {};
    w.owner = owner;
    return w.completion;
  }
  void push() { waiting_.push(); }

  [[nodiscard]] std::size_t poll(std::span<Completion> out) {
    std::size_t n = 0;
    for (; n < out.size() && !waiting_.empty(); ++n) {
      out[n] = waiting_.front().completion;
      waiting_.pop();
      skip_forgotten();
    }
    return n;
  }
  // Drops the waiting completions of `owner`.
  void drop(std::uint32_t owner) {
    for (std::uint64_t n = waiting_.begin(); n != waiting_.end(); ++n) {
      if (waiting_[n].owner == owner) waiting_[n].owner = kForgotten;
    }
    skip_forgotten();
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  // Return how many completions were ever pushed, and how many left the queue, whether polled or
  // dropped.
  [[nodiscard]] std::uint64_t pushed() const { return waiting_.end(); }
  [[nodiscard]] std::uint64_t taken() const { return waiting_.begin(); }

 private:
  static constexpr std::uint32_t kForgotten = 0;
  struct Waiting {
    Completion completion;
    std::uint32_t owner = kForgotten;
  };
  void skip_forgotten() {
    while (!waiting_.empty() && waiting_.front().owner == kForgotten) waiting_.pop();
  }

  std::size_t promised_ = 0;
  Ring<Waiting> waiting_{std::numeric_limits<std::size_t>::max()};  // never dropped at the front
};

}  // namespace rpcrdma::fabric
