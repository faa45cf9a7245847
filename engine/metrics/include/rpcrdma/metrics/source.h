// Where a loop's figures come from. Counters are plain numbers that belong to the loop's thread;
// other threads never read them. Who wants them asks: the loop is woken, copies all of them between
// two turns, and hands the copy over under a mutex. While nobody asks, a turn of the loop costs one
// look at a number that nobody writes, and a message nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include <rpcrdma/metrics/snapshot.h>
#include <rpcrdma/service/loop.h>

namespace rpcrdma::metrics {

// What there is to be told of. All of it outlives the Source.
struct Parts {
  service::Loop* loop = nullptr;
  const soft::SoftProvider* provider = nullptr;  // null: it is another one, which counts nothing
  const service::Server* server = nullptr;       // null: there is none
  const service::Client* client = nullptr;       // null: there is none
  // Adds what only the owner counts, in the loop's thread; may be empty.
  std::function<void(Snapshot&)> more;
  // What the process's trace has counted, in the thread of whoever asks, since a loop does not wait
  // for what writes a recording. Of one of several Sources; may be empty.
  std::function<TraceFigures()> trace = {};
};

class Source : service::LoopMember {
 public:
  // By the thread that runs the loop, or while none does.
  explicit Source(Parts parts);
  ~Source() override;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // By any thread. Wakes the loop; the number is for wait().
  [[nodiscard]] std::uint64_t ask();
  // By any thread but the loop's. What the loop has answered to that question or a later one; or
  // what it said last, if it does not answer until then.
  [[nodiscard]] Snapshot wait(std::uint64_t question,
                              std::chrono::steady_clock::time_point until) const;

 private:
  void flush(fabric::Time now) override;
  [[nodiscard]] Snapshot take(fabric::Time now) const;

  Parts parts_;
  std::atomic<std::uint64_t> asked_{0};
  std::uint64_t answered_ = 0;  // the loop's
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t published_ = 0;  // the question that snapshot_ answers
  Snapshot snapshot_;
};

}  // namespace rpcrdma::metrics
