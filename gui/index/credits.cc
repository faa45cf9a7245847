#include <algorithm>
#include <optional>
#include <utility>

#include <rpcrdma/index/credits.h>

namespace rpcrdma::index {

namespace {

// The first byte of an entry: which message it belongs to, and which values differ from those of
// the entry before.
enum Change : std::uint8_t {
  kNoMessage = 0,
  kNextMessage = 1,   // the ID behind the latest one
  kOtherMessage = 2,  // a difference follows
  kMessageMask = 3,
  kRequested = 4,
  kGranted = 8,
  kInUse = 16,
  kWaiting = 32,
  kLimit = 64,
};

// Seven bits in a byte, the lowest first; the eighth bit: more follow.
void put(std::vector<std::uint8_t>& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) to.push_back(static_cast<std::uint8_t>(value | 0x80U));
  to.push_back(static_cast<std::uint8_t>(value));
}
std::uint64_t get(const std::uint8_t*& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = *from++;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}
// Differences wrap around. Small ones are short, whatever their sign.
void put_difference(std::vector<std::uint8_t>& to, std::uint64_t now, std::uint64_t before) {
  const std::uint64_t d = now - before;
  put(to, d << 1U ^ (d >> 63U != 0 ? UINT64_MAX : 0));
}
std::uint64_t get_difference(const std::uint8_t*& from) {
  const std::uint64_t d = get(from);
  return d >> 1U ^ ((d & 1U) != 0 ? UINT64_MAX : 0);
}
void change(std::uint32_t& value, const std::uint8_t*& from) {
  value = static_cast<std::uint32_t>(value + get_difference(from));
}

}  // namespace

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

CreditLog::Cursor::Cursor(const CreditLog& log, std::size_t i) : log_(log) {
  go_to_block(i / kFan);
  while (i_ != i) next();
}

void CreditLog::Cursor::go_to_block(std::size_t block) {
  const Block& b = log_.blocks_[block];
  i_ = block * kFan;
  state_ = b.first;
  from_ = b.rest != nullptr ? b.rest.get() : log_.open_.data();
}

void CreditLog::Cursor::next() {
  if (++i_ % kFan == 0) return go_to_block(i_ / kFan);
  CreditEntry& e = state_.entry;
  const std::uint8_t changes = *from_++;
  e.time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(e.time_ns) + get(from_));
  const unsigned message = changes & kMessageMask;
  if (message == kOtherMessage) state_.message += get_difference(from_);
  if (message == kNextMessage) ++state_.message;
  e.message = message == kNoMessage ? 0 : state_.message;
  if (changes & kRequested) change(e.requested, from_);
  if (changes & kGranted) change(e.granted, from_);
  if (changes & kInUse) change(e.in_use, from_);
  if (changes & kWaiting) change(e.waiting, from_);
  if (changes & kLimit) change(e.limit, from_);
}

void CreditLog::append(const State& state) {
  const CreditEntry& e = state.entry;
  const CreditEntry& before = last_.entry;
  std::uint8_t changes = e.message == 0                   ? kNoMessage
                         : e.message == last_.message + 1 ? kNextMessage
                                                          : kOtherMessage;
  if (e.requested != before.requested) changes |= kRequested;
  if (e.granted != before.granted) changes |= kGranted;
  if (e.in_use != before.in_use) changes |= kInUse;
  if (e.waiting != before.waiting) changes |= kWaiting;
  if (e.limit != before.limit) changes |= kLimit;
  open_.push_back(changes);
  put(open_, static_cast<std::uint64_t>(e.time_ns) - static_cast<std::uint64_t>(before.time_ns));
  if ((changes & kMessageMask) == kOtherMessage) put_difference(open_, e.message, last_.message);
  if (changes & kRequested) put_difference(open_, e.requested, before.requested);
  if (changes & kGranted) put_difference(open_, e.granted, before.granted);
  if (changes & kInUse) put_difference(open_, e.in_use, before.in_use);
  if (changes & kWaiting) put_difference(open_, e.waiting, before.waiting);
  if (changes & kLimit) put_difference(open_, e.limit, before.limit);
}

void CreditLog::add(CreditEntry entry) {
  if (size_ != 0) entry.time_ns = std::max(entry.time_ns, last_.entry.time_ns);
  const State state{entry, entry.message != 0 ? entry.message : last_.message};
  if (size_ % kFan == 0) {
    blocks_.push_back({state, nullptr});
  } else {
    append(state);
  }
  last_ = state;
  ++size_;
  open_sum_.add(entry);
  if (size_ % kFan != 0) return;
  Block& full = blocks_.back();
  full.rest = std::make_unique_for_overwrite<std::uint8_t[]>(open_.size());
  std::copy(open_.begin(), open_.end(), full.rest.get());
  packed_bytes_ += open_.size();
  open_.clear();
  levels_[0].push_back(std::exchange(open_sum_, {}));
  // A sum is written when all entries that it covers are present.
  for (std::size_t level = 1; level < kLevels; ++level) {
    const std::vector<CreditSpan>& below = levels_[level - 1];
    if (below.size() % kFan != 0) break;
    CreditSpan whole;
    for (std::size_t i = below.size() - kFan; i < below.size(); ++i) whole.add(below[i]);
    levels_[level].push_back(whole);
  }
}

void CreditLog::merge(const CreditLog& other) {
  if (other.size() == 0) return;
  CreditLog both;
  std::size_t a = 0;
  std::size_t b = 0;
  std::optional<Cursor> mine;  // an empty log has no place to begin
  if (size() != 0) mine.emplace(*this, 0);
  Cursor others(other, 0);
  while (a < size() || b < other.size()) {
    const bool take_mine = b == other.size() || (a < size() && mine->state().entry.time_ns <=
                                                                   others.state().entry.time_ns);
    both.add((take_mine ? *mine : others).state().entry);
    if (take_mine && ++a < size()) mine->next();
    if (!take_mine && ++b < other.size()) others.next();
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
    if (level != 0) {
      span.add(levels_[level - 1][first / per]);
      first += per;
      continue;
    }
    const std::size_t end = std::min(last, (first / kFan + 1) * kFan);
    Cursor cursor(*this, first);
    span.add(cursor.state().entry);
    while (++first < end) {
      cursor.next();
      span.add(cursor.state().entry);
    }
  }
}

CreditEntry CreditLog::entry(std::size_t i) const {
  return Cursor(*this, i).state().entry;
}

std::uint64_t CreditLog::message_at(std::size_t i) const {
  return Cursor(*this, i).state().message;
}

std::size_t CreditLog::at(std::int64_t time_ns) const {
  std::size_t low = 0;  // the first block that begins later
  std::size_t high = blocks_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (blocks_[middle].first.entry.time_ns <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return size_;
  std::size_t i = (low - 1) * kFan;
  const std::size_t end = std::min(size_, low * kFan);
  Cursor cursor(*this, i);
  while (i + 1 < end) {
    cursor.next();
    if (cursor.state().entry.time_ns > time_ns) break;
    ++i;
  }
  return i;
}

std::vector<CreditSpan> CreditLog::columns(std::int64_t from_ns, std::int64_t to_ns,
                                           std::size_t count) const {
  std::vector<CreditSpan> all(count);
  if (count == 0 || to_ns <= from_ns) return {};
  const auto width = static_cast<double>(to_ns - from_ns) / static_cast<double>(count);
  const std::size_t none = size_;
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
  std::size_t bytes = blocks_.footprint() + open_.capacity() + packed_bytes_;
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(CreditSpan);
  return bytes;
}

}  // namespace rpcrdma::index
