// A queue whose elements keep their number: the n-th element ever pushed is ring[n] until it is
// popped. It allocates as it fills, up to its limit, and keeps the memory: in steady state it
// allocates nothing, and a connection with little in flight stays small. If memory runs out, the
// ring is unchanged.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace rpcrdma::fabric {

template <typename T>
class Ring {
 public:
  explicit Ring(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return size() >= limit_; }

  [[nodiscard]] T& operator[](std::uint64_t n) { return elements_[n & (capacity_ - 1)]; }
  [[nodiscard]] const T& operator[](std::uint64_t n) const {
    return elements_[n & (capacity_ - 1)];
  }
  [[nodiscard]] T& front() { return (*this)[begin_]; }
  [[nodiscard]] T& back() { return (*this)[end_ - 1]; }

  // Returns the place of the next element, with its previous contents, so that the element can be
  // filled in place before push() instead of copied. Must not be full.
  [[nodiscard]] T& next() {
    if (size() == capacity_) grow(capacity_ + 1);
    return elements_[end_ & (capacity_ - 1)];
  }
  // Reserves room for `elements` in total: up to that number, next() and push() need no memory.
  void reserve(std::size_t elements) {
    if (elements > capacity_) grow(elements);
  }
  void push() { ++end_; }
  void push(const T& element) {
    next() = element;
    push();
  }
  void set_limit(std::size_t limit) { limit_ = limit; }
  void pop() { ++begin_; }
  void pop_back() { --end_; }
  void clear() { begin_ = end_; }
  // The remaining elements keep their order and move up.
  template <typename Predicate>
  void erase_if(Predicate&& predicate) {
    std::uint64_t to = begin_;
    for (std::uint64_t n = begin_; n != end_; ++n) {
      if (predicate(std::as_const((*this)[n]))) continue;
      if (to != n) (*this)[to] = std::move((*this)[n]);
      ++to;
    }
    end_ = to;
  }

 private:
  void grow(std::size_t least) {
    const std::size_t larger = std::max(std::bit_ceil(least), kFirst);
    auto fresh = std::make_unique<T[]>(larger);
    for (std::uint64_t n = begin_; n != end_; ++n) {
      fresh[n & (larger - 1)] = std::move(elements_[n & (capacity_ - 1)]);
    }
    elements_ = std::move(fresh);
    capacity_ = larger;
  }

  static constexpr std::size_t kFirst = 4;

  std::unique_ptr<T[]> elements_;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::size_t limit_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace rpcrdma::fabric
