#include "outbox.h"

#include <utility>

namespace rpcrdma::tracepoints {

Outbox::Place Outbox::reserve(std::int64_t time) {
  add(time).held = true;
  return next_ - 1;
}

void Outbox::release(Place& place) {
  const Place released = std::exchange(place, 0);
  if (!is_here(released)) return;
  at(released).held = false;
  if (released == first_) drain();
}

void Outbox::expire(std::int64_t now) {
  while (!empty() && now - at(first_).time > kLongestWait) {
    at(first_).held = false;
    drain();
  }
}

void Outbox::flush() {
  while (!empty()) {
    at(first_).held = false;
    drain();
  }
}

Outbox::Slot& Outbox::add(std::int64_t time) {
  if (next_ - first_ >= kMost) {
    at(first_).held = false;
    drain();
  }
  if (next_ - first_ == slots_.size()) {
    std::vector<Slot> larger(slots_.size() * 2);
    for (Place p = first_; p != next_; ++p) larger[p & (larger.size() - 1)] = std::move(at(p));
    slots_ = std::move(larger);
  }
  Slot& slot = at(next_++);
  slot.time = time;
  slot.held = slot.filled = false;
  return slot;
}

// Sends what waits for nothing.
void Outbox::drain() {
  while (!empty() && !at(first_).held) {
    Slot& slot = at(first_);
    if (slot.filled) {
      slot.header.time = after_last(slot.time);
      sink_.event(slot.header, {slot.fixed.data(), slot.header.fixed}, slot.payload, {});
    }
    ++first_;
  }
}

}  // namespace rpcrdma::tracepoints
