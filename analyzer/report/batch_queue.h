// Two threads and a few batches between them: the one fills, the other empties, in order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace rpcrdma::report {

// kBatches slots used in turn. One producer, one consumer; a slot belongs to one of them at a time,
// so what is in it needs no lock. A thread that finds nothing to do spins for a moment before it
// sleeps (std::atomic::wait), since the other is nearly always about to hand something over.
template <typename Batch, std::size_t kBatches>
class BatchQueue {
 public:
  // The producer's next empty slot.
  Batch& to_fill() {
    const std::size_t filled = filled_.load(std::memory_order_relaxed);
    for (;;) {
      const std::size_t emptied = emptied_.load(std::memory_order_acquire);
      if (filled - emptied < kBatches) return batches_[filled % kBatches];
      emptied_.wait(emptied, std::memory_order_acquire);
    }
  }
  void filled() {
    filled_.fetch_add(1, std::memory_order_release);
    filled_.notify_one();
  }

  // The consumer's next full slot.
  Batch& to_empty() {
    const std::size_t emptied = emptied_.load(std::memory_order_relaxed);
    filled_.wait(emptied, std::memory_order_acquire);
    return batches_[emptied % kBatches];
  }
  void emptied() {
    emptied_.fetch_add(1, std::memory_order_release);
    emptied_.notify_one();
  }

 private:
  alignas(64) std::atomic<std::size_t> filled_{0};
  alignas(64) std::atomic<std::size_t> emptied_{0};
  std::array<Batch, kBatches> batches_;
};

}  // namespace rpcrdma::report
