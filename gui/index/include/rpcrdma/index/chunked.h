// A list for millions of small values: it grows at its end and never moves its elements.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace rpcrdma::index {

template <typename T, std::size_t kPerPiece = 4096>
class Chunked {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return pieces_[i / kPerPiece][i % kPerPiece];
  }
  [[nodiscard]] T& operator[](std::size_t i) { return pieces_[i / kPerPiece][i % kPerPiece]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }

  T& push_back(T value) {
    if (size_ == pieces_.size() * kPerPiece) {
      pieces_.push_back(std::make_unique_for_overwrite<T[]>(kPerPiece));
    }
    T& place = (*this)[size_++];
    place = std::move(value);
    return place;
  }
  // Memory in use, bytes.
  [[nodiscard]] std::size_t footprint() const {
    return pieces_.size() * (kPerPiece * sizeof(T) + sizeof(void*));
  }

 private:
  std::vector<std::unique_ptr<T[]>> pieces_;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::index
