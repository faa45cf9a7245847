#include "cm_timers.h"

#include <algorithm>

namespace rpcrdma::soft {

void CmTimers::reserve(std::size_t timers) {
  if (timers > heap_.capacity()) heap_.reserve(std::max(timers, 2 * heap_.capacity()));
}

void CmTimers::set(CmTimer& timer, CmConnection& owner, fabric::Time deadline) {
  const bool runs = timer.deadline_ != fabric::kNever;
  // kNever means no deadline.
  if (deadline == fabric::kNever) return stop(timer);
  timer.deadline_ = deadline;
  timer.owner_ = &owner;
  if (runs) return settle(timer.place_, timer);
  heap_.push_back(&timer);
  settle(heap_.size() - 1, timer);
}

void CmTimers::stop(CmTimer& timer) {
  if (timer.deadline_ == fabric::kNever) return;
  timer.deadline_ = fabric::kNever;
  CmTimer* const last = heap_.back();
  heap_.pop_back();
  if (last != &timer) settle(timer.place_, *last);
}

fabric::Time CmTimers::next() const {
  return heap_.empty() ? fabric::kNever : heap_.front()->deadline_;
}

CmConnection* CmTimers::take_due(fabric::Time now) {
  if (heap_.empty() || heap_.front()->deadline_ > now) return nullptr;
  CmTimer& timer = *heap_.front();
  stop(timer);
  return timer.owner_;
}

void CmTimers::put(std::size_t place, CmTimer& timer) {
  heap_[place] = &timer;
  timer.place_ = place;
  ++moves_;
}

// `place` is free or the timer's own. Moves the timer from there to its proper place.
void CmTimers::settle(std::size_t place, CmTimer& timer) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (heap_[parent]->deadline_ <= timer.deadline_) break;
    put(place, *heap_[parent]);
    place = parent;
  }
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->deadline_ < heap_[child]->deadline_) ++child;
    if (heap_[child]->deadline_ >= timer.deadline_) break;
    put(place, *heap_[child]);
    place = child;
  }
  put(place, timer);
}

}  // namespace rpcrdma::soft
