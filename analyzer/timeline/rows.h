// Assigns rows of a chart to items that overlap in time, so that concurrent items never share a
// row.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace rpcrdma::timeline {

class Rows {
 public:
  // Returns the first free row. Rows count from 0.
  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) return count_++;
    const std::uint32_t row = free_.top();
    free_.pop();
    return row;
  }
  // Call once for each row that take() returned.
  void give_back(std::uint32_t row) { free_.push(row); }

 private:
  std::uint32_t count_ = 0;  // of rows ever assigned
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
};

}  // namespace rpcrdma::timeline
