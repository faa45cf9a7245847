// Which bytes of a segment RDMA operations have moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/roce/interval_set.h>

namespace rpcrdma::model {

// Bytes that were moved twice count once. What comes in order, which is nearly always all, takes no
// memory of its own; the number of pieces is bounded.
class Coverage {
 public:
  // Adds [begin, end), from the segment's first byte on.
  void add(std::uint64_t begin, std::uint64_t end);

  [[nodiscard]] std::uint64_t covered() const {
    return pieces_.intervals() != 0 ? pieces_.covered() : end_ - begin_;
  }
  // False: there were more pieces than are kept, so more than covered() may have been moved.
  [[nodiscard]] bool certain() const { return certain_; }
  // Of memory, bytes.
  [[nodiscard]] std::size_t footprint() const {
    return pieces_.intervals() * 2 * sizeof(std::uint64_t);
  }

 private:
  std::uint64_t begin_ = 0, end_ = 0;  // while all is one piece
  roce::IntervalSet pieces_;
  bool certain_ = true;
};

}  // namespace rpcrdma::model
