// A queue whose capacity is fixed at construction.
#pragma once

#include <cstddef>
#include <memory>

namespace rpcrdma::protocol {

template <typename T>
class FixedRing {
 public:
  explicit FixedRing(std::size_t capacity)
      : elements_(std::make_unique<T[]>(capacity)), capacity_(capacity) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& front() { return elements_[begin_]; }
  // Must not be full.
  void push(const T& element) {
    elements_[place(size_)] = element;
    ++size_;
  }
  void pop() {
    if (++begin_ == capacity_) begin_ = 0;
    --size_;
  }
  void clear() { size_ = 0; }
  // The i-th from the front.
  [[nodiscard]] const T& operator[](std::size_t i) const { return elements_[place(i)]; }
  // Removes it; later elements stay in order.
  void remove(std::size_t i) {
    for (; i + 1 < size_; ++i) elements_[place(i)] = elements_[place(i + 1)];
    --size_;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i) const {
    const std::size_t at = begin_ + i;
    return at >= capacity_ ? at - capacity_ : at;
  }

  std::unique_ptr<T[]> elements_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::protocol
