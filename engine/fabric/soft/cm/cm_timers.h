// Deadlines of connections: a binary heap whose elements know their place, so that a deadline is
// set, moved and taken back in O(log n), and the next one is known at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

class CmTimers;
struct CmConnection;

// A part of what it belongs to, which must not move or vanish while the timer runs.
class CmTimer {
 public:
  [[nodiscard]] fabric::Time deadline() const { return deadline_; }  // kNever: it does not run

 private:
  friend class CmTimers;
  fabric::Time deadline_ = fabric::kNever;
  std::size_t place_ = 0;  // in the heap, while it runs
  CmConnection* owner_ = nullptr;
};

class CmTimers {
 public:
  // Of so many timers at a time none needs memory.
  void reserve(std::size_t timers);
  void set(CmTimer& timer, CmConnection& owner, fabric::Time deadline);
  void stop(CmTimer& timer);

  [[nodiscard]] fabric::Time next() const;
  // Of the timer with the earliest deadline, if that is not after `now`: it is stopped.
  [[nodiscard]] CmConnection* take_due(fabric::Time now);

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // Places that timers were moved to so far: what all of it has cost.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  void put(std::size_t place, CmTimer& timer);
  void settle(std::size_t place, CmTimer& timer);

  std::vector<CmTimer*> heap_;
  std::uint64_t moves_ = 0;
};

}  // namespace rpcrdma::soft
