// Rows of a chart for things that overlap in time: each has one for itself while it lasts.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace rpcrdma::timeline {

class Rows {
 public:
  // The first row that is free; they count from 0.
  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) return count_++;
    const std::uint32_t row = free_.top();
    free_.pop();
    return row;
  }
  // Each once after it was taken.
  void give_back(std::uint32_t row) { free_.push(row); }

 private:
  std::uint32_t count_ = 0;  // that were ever taken
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
};

}  // namespace rpcrdma::timeline
