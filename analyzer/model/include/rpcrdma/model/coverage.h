// Which bytes of a segment RDMA operations have moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rpcrdma/roce/interval_set.h>

namespace rpcrdma::model {

// Bytes that were moved twice count once. What comes in order, which is nearly always all, takes no
// memory of its own; the number of pieces is bounded. Calls with a hundred thousand segments are
// possible: it is small.
class Coverage {
 public:
  Coverage() = default;
  Coverage(const Coverage& other)
      : begin_(other.begin_),
        end_(other.end_),
        pieces_(other.pieces_ ? std::make_unique<Pieces>(*other.pieces_) : nullptr) {}
  Coverage(Coverage&&) noexcept = default;
  Coverage& operator=(Coverage other) noexcept {
    begin_ = other.begin_;
    end_ = other.end_;
    pieces_.swap(other.pieces_);
    return *this;
  }
  ~Coverage() = default;

  // Adds [begin, end), from the segment's first byte on.
  void add(std::uint32_t begin, std::uint32_t end);

  [[nodiscard]] std::uint64_t covered() const {
    return pieces_ ? pieces_->set.covered() : end_ - begin_;
  }
  // False: there were more pieces than are kept, so more than covered() may have been moved.
  [[nodiscard]] bool certain() const { return !pieces_ || pieces_->certain; }
  // Of memory, bytes.
  [[nodiscard]] std::size_t footprint() const {
    return pieces_ ? sizeof(Pieces) + pieces_->set.intervals() * 2 * sizeof(std::uint64_t) : 0;
  }

 private:
  struct Pieces {
    roce::IntervalSet set;
    bool certain = true;
  };

  std::uint32_t begin_ = 0, end_ = 0;  // while all is one piece
  std::unique_ptr<Pieces> pieces_;
};

}  // namespace rpcrdma::model
