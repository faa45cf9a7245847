// A table of reusable slots. It grows to the most that were in use at a time, up to its limit, and
// keeps that size; slots do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace rpcrdma::protocol {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

// As many bits as a WorkId has for it.
inline constexpr unsigned kGenerationBits = 28;

// T has a `generation`, which changes each time its slot is released, and never is 0.
template <typename T>
class Slots {
 public:
  explicit Slots(std::uint32_t limit) : limit_(limit) {}

  // kNoSlot: all are in use. Throws std::bad_alloc, and then nothing has changed.
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
    if (++slot.generation >> kGenerationBits != 0) slot.generation = 1;
    free_.push_back(index);
  }

  [[nodiscard]] T& operator[](std::uint32_t index) { return *slots_[index]; }
  [[nodiscard]] const T& operator[](std::uint32_t index) const { return *slots_[index]; }
  // The most that were ever in use at the same time.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] std::uint32_t in_use() const {
    return size() - static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] bool full() const { return in_use() >= limit_; }
  // The slot that a completion names; null if it has been released since.
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
