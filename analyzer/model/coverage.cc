#include <algorithm>

#include <rpcrdma/model/coverage.h>

namespace rpcrdma::model {

void Coverage::add(std::uint32_t begin, std::uint32_t end) {
  if (begin >= end) return;
  if (!pieces_) {
    const bool first = begin_ == end_;
    if (first || (begin <= end_ && begin_ <= end)) {
      begin_ = first ? begin : std::min(begin_, begin);
      end_ = first ? end : std::max(end_, end);
      return;
    }
    pieces_ = std::make_unique<Pieces>();
    pieces_->set.add(begin_, end_);
  }
  if (!pieces_->set.add(begin, end) && !pieces_->set.contains(begin, end)) pieces_->certain = false;
}

}  // namespace rpcrdma::model
