// Deadlines of connections: a binary heap whose elements know their place, so that setting, moving
// and cancelling a deadline take O(log n), and the next one is known at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

class CmTimers;
struct CmConnection;

// A timer embedded in its connection, which must not move or be destroyed while the timer runs.
class CmTimer {
 public:
  [[nodiscard]] fabric::Time deadline() const { return deadline_; }  // kNever: not running

 private:
  friend class CmTimers;
  fabric::Time deadline_ = fabric::kNever;
  std::size_t place_ = 0;  // in the heap, while running
  CmConnection* owner_ = nullptr;
};

class CmTimers {
 public:
  // Reserves memory for this many running timers.
  void reserve(std::size_t timers);
  void set(CmTimer& timer, CmConnection& owner, fabric::Time deadline);
  void stop(CmTimer& timer);

  [[nodiscard]] fabric::Time next() const;
  // Stops the timer with the earliest deadline and returns its connection, if the deadline is not
  // after `now`.
  [[nodiscard]] CmConnection* take_due(fabric::Time now);

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // Returns how often timers were moved in the heap: the cost so far.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  void put(std::size_t place, CmTimer& timer);
  void settle(std::size_t place, CmTimer& timer);

  std::vector<CmTimer*> heap_;
  std::uint64_t moves_ = 0;
};

}  // namespace rpcrdma::soft
