#include <algorithm>

#include <rpcrdma/index/credits.h>

namespace rpcrdma::index {

void CreditSpan::add(const CreditEntry& e) {
  add(CreditSpan{e.time_ns, e.time_ns, true, e.requested, e.requested, e.granted, e.granted,
                 e.in_use, e.in_use, e.waiting, e.limit, e.limit, e.exhausted()});
}

void CreditSpan::add(const CreditSpan& s) {
  if (!s.any) return;
  if (!any) {
    const std::int64_t from = from_ns;
    const std::int64_t to = to_ns;
    *this = s;
    from_ns = from;
    to_ns = to;
    return;
  }
  requested_min = std::min(requested_min, s.requested_min);
  requested_max = std::max(requested_max, s.requested_max);
  granted_min = std::min(granted_min, s.granted_min);
  granted_max = std::max(granted_max, s.granted_max);
  in_use_min = std::min(in_use_min, s.in_use_min);
  in_use_max = std::max(in_use_max, s.in_use_max);
  waiting_max = std::max(waiting_max, s.waiting_max);
  if (s.limit_max != 0) {
    limit_min = limit_max == 0 ? s.limit_min : std::min(limit_min, s.limit_min);
    limit_max = std::max(limit_max, s.limit_max);
  }
  exhausted = exhausted || s.exhausted;
}

void CreditLog::add(CreditEntry entry) {
  if (!entries_.empty()) entry.time_ns = std::max(entry.time_ns, entries_.back().time_ns);
  entries_.push_back(entry);
  // A sum is written when all entries that it covers are present.
  std::size_t per = kFan;
  for (auto& level : levels_) {
    if (entries_.size() % per != 0) break;
    CreditSpan whole;
    const std::size_t last = entries_.size();
    sum(last - per, last, whole);
    level.push_back(whole);
    per *= kFan;
  }
}

void CreditLog::merge(const CreditLog& other) {
  CreditLog both;
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < size() || b < other.size()) {
    const bool mine =
        b == other.size() || (a < size() && entries_[a].time_ns <= other.entries_[b].time_ns);
    both.add(mine ? entries_[a++] : other.entries_[b++]);
  }
  *this = std::move(both);
}

void CreditLog::sum(std::size_t first, std::size_t last, CreditSpan& span) const {
  while (first < last) {
    std::size_t per = 1;
    std::size_t level = 0;  // levels_[level - 1] holds sums of `per` entries
    while (level < kLevels && first % (per * kFan) == 0 && first + per * kFan <= last &&
           first / (per * kFan) < levels_[level].size()) {
      per *= kFan;
      ++level;
    }
    if (level == 0) {
      span.add(entries_[first]);
    } else {
      span.add(levels_[level - 1][first / per]);
    }
    first += per;
  }
}

std::size_t CreditLog::at(std::int64_t time_ns) const {
  std::size_t low = 0;  // the first later entry
  std::size_t high = entries_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (entries_[middle].time_ns <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? entries_.size() : low - 1;
}

std::vector<CreditSpan> CreditLog::columns(std::int64_t from_ns, std::int64_t to_ns,
                                           std::size_t count) const {
  std::vector<CreditSpan> all(count);
  if (count == 0 || to_ns <= from_ns) return {};
  const auto width = static_cast<double>(to_ns - from_ns) / static_cast<double>(count);
  const std::size_t none = entries_.size();
  std::size_t before = at(from_ns - 1);
  for (std::size_t i = 0; i < count; ++i) {
    CreditSpan& span = all[i];
    span.from_ns = from_ns + static_cast<std::int64_t>(width * static_cast<double>(i));
    span.to_ns = i + 1 == count
                     ? to_ns
                     : from_ns + static_cast<std::int64_t>(width * static_cast<double>(i + 1));
    const std::size_t last = at(span.to_ns - 1);
    if (last == none) continue;
    const std::size_t first = before == none ? 0 : before;
    sum(first, last + 1, span);
    before = last;
  }
  return all;
}

std::size_t CreditLog::footprint() const {
  std::size_t bytes = entries_.footprint();
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(CreditSpan);
  return bytes;
}

}  // namespace rpcrdma::index
