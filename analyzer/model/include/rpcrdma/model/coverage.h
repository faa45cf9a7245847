// Tracks which bytes of a segment RDMA operations have moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rpcrdma/roce/interval_set.h>

namespace rpcrdma::model {

// Bytes that were moved twice count once. Data that arrives in order, nearly always all of it,
// needs no extra memory; the number of pieces is bounded. The object is small, since a Call can
// have a hundred thousand segments.
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

  // Adds [begin, end), counted from the segment's first byte.
  void add(std::uint32_t begin, std::uint32_t end);

  [[nodiscard]] std::uint64_t covered() const {
    return pieces_ ? pieces_->set.covered() : end_ - begin_;
  }
  // False: there were more pieces than are kept, so more than covered() may have been moved.
  [[nodiscard]] bool certain() const { return !pieces_ || pieces_->certain; }
  // Memory used, bytes.
  [[nodiscard]] std::size_t footprint() const {
    return pieces_ ? sizeof(Pieces) + pieces_->set.intervals() * 2 * sizeof(std::uint64_t) : 0;
  }

 private:
  struct Pieces {
    roce::IntervalSet set;
    bool certain = true;
  };

  std::uint32_t begin_ = 0, end_ = 0;  // while there is only one piece
  std::unique_ptr<Pieces> pieces_;
};

}  // namespace rpcrdma::model
