// A list of slots, linked through themselves: a slot is in one list at a time, and can be removed
// from any place.
#pragma once

#include "slots.h"

#include <utility>

namespace rpcrdma::protocol {

// T has `previous` and `next`.
template <typename T>
class SlotList {
 public:
  explicit SlotList(Slots<T>& slots) : slots_(slots) {}

  [[nodiscard]] bool empty() const { return first_ == kNoSlot; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t front() const { return first_; }

  void push_back(std::uint32_t index) {
    T& slot = slots_[index];
    slot.previous = last_;
    slot.next = kNoSlot;
    (last_ == kNoSlot ? first_ : slots_[last_].next) = index;
    last_ = index;
    ++size_;
  }
  void push_front(std::uint32_t index) {
    T& slot = slots_[index];
    slot.previous = kNoSlot;
    slot.next = first_;
    (first_ == kNoSlot ? last_ : slots_[first_].previous) = index;
    first_ = index;
    ++size_;
  }
  void remove(std::uint32_t index) {
    const T& slot = slots_[index];
    (slot.previous == kNoSlot ? first_ : slots_[slot.previous].next) = slot.next;
    (slot.next == kNoSlot ? last_ : slots_[slot.next].previous) = slot.previous;
    --size_;
  }
  // Moves all of `other` to the front of this list.
  void take_before(SlotList& other) {
    if (other.empty()) return;
    slots_[other.last_].next = first_;
    (first_ == kNoSlot ? last_ : slots_[first_].previous) = other.last_;
    first_ = std::exchange(other.first_, kNoSlot);
    other.last_ = kNoSlot;
    size_ += std::exchange(other.size_, 0U);
  }

 private:
  Slots<T>& slots_;
  std::uint32_t first_ = kNoSlot;
  std::uint32_t last_ = kNoSlot;
  std::uint32_t size_ = 0;
};

}  // namespace rpcrdma::protocol
