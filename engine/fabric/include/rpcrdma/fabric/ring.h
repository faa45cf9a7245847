// A queue whose elements keep their number: the n-th that was ever pushed is ring[n] until it is
// popped. It takes memory as it fills, up to its limit, and keeps it: in steady state it allocates
// nothing, and a connection on which little is outstanding is small.
#pragma once

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

  // The place of the next element, with what was left there: filled in place, and then pushed, it
  // need not be copied. Must not be full.
  [[nodiscard]] T& next() {
    if (size() == capacity_) grow();
    return elements_[end_ & (capacity_ - 1)];
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

 private:
  void grow() {
    const std::size_t larger = capacity_ == 0 ? 4 : 2 * capacity_;
    auto fresh = std::make_unique<T[]>(larger);
    for (std::uint64_t n = begin_; n != end_; ++n) {
      fresh[n & (larger - 1)] = std::move(elements_[n & (capacity_ - 1)]);
    }
    elements_ = std::move(fresh);
    capacity_ = larger;
  }

  std::unique_ptr<T[]> elements_;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::size_t limit_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace rpcrdma::fabric
