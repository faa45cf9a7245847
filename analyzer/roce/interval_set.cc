#include <algorithm>

#include <rpcrdma/roce/interval_set.h>

namespace rpcrdma::roce {

bool IntervalSet::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return false;
  // The common case: the packet after the last one.
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
    return true;
  }
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](const Range& r, std::uint64_t v) { return r.end < v; });
  if (first != ranges_.end() && first->begin <= begin && end <= first->end) return false;
  auto last = first;
  while (last != ranges_.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    ++last;
  }
  if (first == last) {
    if (ranges_.size() >= kMaxIntervals) return false;
    ranges_.insert(first, Range{begin, end});
  } else {
    *first = Range{begin, end};
    ranges_.erase(first + 1, last);
  }
  return true;
}

bool IntervalSet::contains(std::uint64_t begin, std::uint64_t end) const {
  const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](const Range& r, std::uint64_t v) { return r.end <= v; });
  return it != ranges_.end() && it->begin <= begin && end <= it->end;
}

std::uint64_t IntervalSet::covered() const {
  std::uint64_t sum = 0;
  for (const Range& r : ranges_) sum += r.end - r.begin;
  return sum;
}

}  // namespace rpcrdma::roce
