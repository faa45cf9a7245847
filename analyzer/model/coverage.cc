#include <rpcrdma/model/coverage.h>

namespace rpcrdma::model {

void Coverage::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  if (pieces_.intervals() == 0) {
    const bool first = begin_ == end_;
    if (first || (begin <= end_ && begin_ <= end)) {
      begin_ = first ? begin : std::min(begin_, begin);
      end_ = first ? end : std::max(end_, end);
      return;
    }
    pieces_.add(begin_, end_);
  }
  if (!pieces_.add(begin, end) && !pieces_.contains(begin, end)) certain_ = false;
}

}  // namespace rpcrdma::model
