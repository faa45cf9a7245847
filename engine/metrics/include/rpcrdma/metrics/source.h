// The source of a loop's figures. Counters are plain numbers that belong to the loop's thread;
// other threads never read them. To get them, a thread asks: the loop is woken, copies all of them
// between two iterations, and passes the copy on under a mutex. Without a request, an iteration
// costs one read of an unmodified number, and a message nothing.
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

// The parts of an endpoint. All of them outlive the Source.
struct Parts {
  service::Loop* loop = nullptr;
  const soft::SoftProvider* provider = nullptr;  // null: another provider, which has no counters
  const service::Server* server = nullptr;       // null: none
  const service::Client* client = nullptr;       // null: none
  // Adds the owner's counters, in the loop's thread; may be empty.
  std::function<void(Snapshot&)> more;
  // Returns the counters of the process's trace, in the asking thread, since a loop must not wait
  // for the thread that writes a recording. Set it in only one of several Sources; may be empty.
  std::function<TraceFigures()> trace = {};
};

class Source : service::LoopMember {
 public:
  // To be called by the thread that runs the loop, or while none does.
  explicit Source(Parts parts);
  ~Source() override;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // For any thread. Wakes the loop; pass the result to wait().
  [[nodiscard]] std::uint64_t ask();
  // For any thread except the loop's. Returns the loop's answer to that question or a later one, or
  // its previous answer if there is none by `until`.
  [[nodiscard]] Snapshot wait(std::uint64_t question,
                              std::chrono::steady_clock::time_point until) const;

 private:
  void flush(fabric::Time now) override;
  [[nodiscard]] Snapshot take(fabric::Time now) const;

  Parts parts_;
  std::atomic<std::uint64_t> asked_{0};
  std::uint64_t answered_ = 0;  // used by the loop's thread only
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t published_ = 0;  // the question that snapshot_ answers
  Snapshot snapshot_;
};

}  // namespace rpcrdma::metrics
