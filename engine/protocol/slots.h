// A table of slots that are used again and again. It grows to what was needed at a time, up to its
// limit, and keeps that; places do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace rpcrdma::protocol {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

// T has a `generation`, which changes each time that its slot is given back, and never is 0.
template <typename T>
class Slots {
 public:
  explicit Slots(std::uint32_t limit) : limit_(limit) {}

  // kNoSlot: all are in use. Throws std::bad_alloc, and then all is as it was.
  [[nodiscard]] std::uint32_t acquire() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (size() >= limit_) return kNoSlot;
    // So that give() needs no memory; more than one place at a time, as a vector grows by itself.
    if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 1);
    slots_.push_back(std::make_unique<T>());
    slots_.back()->generation = 1;
    return size() - 1;
  }
  void give(std::uint32_t index) {
    T& slot = *slots_[index];
    if (++slot.generation == 0) slot.generation = 1;
    free_.push_back(index);
  }

  [[nodiscard]] T& operator[](std::uint32_t index) { return *slots_[index]; }
  [[nodiscard]] const T& operator[](std::uint32_t index) const { return *slots_[index]; }
  // That ever were in use at the same time.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] std::uint32_t in_use() const {
    return size() - static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] bool full() const { return in_use() >= limit_; }
  // The slot that a completion names; null when it has been given back since.
  [[nodiscard]] T* find(std::uint32_t index, std::uint32_t generation) {
    return index < size() && slots_[index]->generation == generation ? slots_[index].get()
                                                                     : nullptr;
  }

 private:
  std::vector<std::unique_ptr<T>> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t limit_;
};

}  // namespace rpcrdma::protocol
