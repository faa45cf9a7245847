// Finds in-flight Calls by XID and handle, at bounded cost even for hostile captures.
#include "call_table.h"

#include <algorithm>
#include <span>
#include <utility>

namespace rpcrdma::model {

namespace {

// One handle in many segments is legal but rare. So few are searched one by one; if there are more,
// an index finds them by their offsets, in logarithmic time even in a hostile capture.
constexpr std::size_t kSearchedOneByOne = 64;
// Segments of one handle that begin before an operation does and may contain it: more than one only
// if they overlap.
constexpr std::size_t kMaxOverlapping = 64;

bool same(const CallRef& a, const CallRef& b) {
  return a.slot == b.slot && a.generation == b.generation;
}

// How many older segments with its handle a new segment is compared with: overlaps are rare, and a
// hostile Call has very many segments.
constexpr std::size_t kComparedForOverlap = 4;

// Entries that tables keep allocated while they hold no Call.
constexpr std::size_t kKeptEntries = 128;

bool overlap(const wire::Segment& a, const wire::Segment& b) {
  // Each difference wraps to a huge value if it is negative.
  return a.length != 0 && b.length != 0 &&
         (a.offset - b.offset < b.length || b.offset - a.offset < a.length);
}

}  // namespace

CallRef CallPool::create() {
  if (free_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  Slot& slot = *slots_[at];
  spare_bytes_ -= std::exchange(slot.spare_bytes, 0);
  slot.older = newest_;
  slot.newer = kNone;
  (newest_ != kNone ? slots_[newest_]->newer : oldest_) = at;
  newest_ = at;
  return {at, slot.generation};
}

void CallPool::release(CallRef ref) {
  Slot& slot = *slots_[ref.slot];
  (slot.older != kNone ? slots_[slot.older]->newer : oldest_) = slot.newer;
  (slot.newer != kNone ? slots_[slot.newer]->older : newest_) = slot.older;
  ++slot.generation;
  const std::size_t bytes = slot.call.counted;
  if (spare_bytes_ + bytes <= kMaxSpareBytes) {
    slot.call.reset();
    slot.spare_bytes = bytes;
    spare_bytes_ += bytes;
  } else {
    slot.call = Call{};
  }
  free_.push_back(ref.slot);
}

CallRef CallPool::oldest() const {
  return oldest_ != kNone ? ref_of(oldest_) : CallRef{};
}

Call* CallPool::get(CallRef ref) {
  if (ref.slot >= slots_.size()) return nullptr;
  Slot& slot = *slots_[ref.slot];
  return slot.generation == ref.generation ? &slot.call : nullptr;
}

void CallTable::insert(CallPool& pool, CallRef ref, std::uint32_t first) {
  Call& call = *pool.get(ref);
  by_xid_[call.message.xid] = ref;
  for (std::uint32_t i = first; i < call.segments.size(); ++i) {
    SegmentRef& newest = by_handle_[call.segments[i].target.handle];
    call.segments[i].older = newest;
    bool many = false;
    if (Call* const holder = pool.get(newest.call)) {
      CallSegment& older = holder->segments[newest.segment];
      older.newer = {ref, i};
      call.segments[i].depth =
          static_cast<std::uint8_t>(std::min<std::size_t>(older.depth + 1U, kSearchedOneByOne));
      if (call.segments[i].depth >= kSearchedOneByOne && !older.indexed) {
        call.segments[i].depth = static_cast<std::uint8_t>(count_older(pool, newest));
      }
      many = older.indexed || call.segments[i].depth >= kSearchedOneByOne;
      mark_shared(pool, ref, call.segments[i]);
    }
    newest = {ref, i};
    if (many) index_by_offset(pool, newest);
  }
  trim_order();
  order_.emplace_back(call.message.xid, ref);
}

void CallTable::mark_shared(CallPool& pool, CallRef ref, CallSegment& segment) {
  SegmentRef at = segment.older;
  for (std::size_t n = 0; n < kComparedForOverlap; ++n) {
    Call* holder = pool.get(at.call);
    if (holder == nullptr) return;
    CallSegment& older = holder->segments[at.segment];
    if (overlap(older.target, segment.target)) {
      const Shared how = same(at.call, ref) ? Shared::kWithOwnCall : Shared::kWithOtherCall;
      segment.shared = std::max(segment.shared, how);
      older.shared = std::max(older.shared, how);
    }
    at = older.older;
  }
}

void CallTable::erase(CallPool& pool, CallRef ref, std::uint32_t first) {
  Call& call = *pool.get(ref);
  by_xid_.erase(call.message.xid);
  for (std::uint32_t i = first; i < call.segments.size(); ++i) unlink(pool, ref, i);
  if (by_xid_.empty()) give_back();
}

// There are many connections, and most are idle: memory for a burst is not kept for the next one.
void CallTable::give_back() {
  if (by_xid_.bucket_count() > kKeptEntries) by_xid_ = {};
  if (by_handle_.bucket_count() > kKeptEntries) by_handle_ = {};
  if (order_.capacity() > kKeptEntries) order_ = {};
  by_offset_.reset();
  order_.clear();
  order_begin_ = 0;
}

// Returns how many segments there are from `at` to the oldest, at most kSearchedOneByOne.
std::uint32_t CallTable::count_older(CallPool& pool, SegmentRef at) {
  std::uint32_t count = 0;
  for (const Call* holder = pool.get(at.call); holder != nullptr && count < kSearchedOneByOne;
       holder = pool.get(at.call)) {
    ++count;
    at = holder->segments[at.segment].older;
  }
  return count;
}

// Indexes a segment and all older ones of its handle that are not indexed yet.
void CallTable::index_by_offset(CallPool& pool, SegmentRef at) {
  while (Call* const holder = pool.get(at.call)) {
    CallSegment& segment = holder->segments[at.segment];
    if (segment.indexed) return;
    segment.indexed = true;
    if (by_offset_ == nullptr) by_offset_ = std::make_unique<ByOffset>();
    const ByOffset::Set::value_type value{segment.target.handle, segment.target.offset,
                                          at.call.slot, at.segment};
    if (by_offset_->spare.empty()) {
      by_offset_->segments.insert(value);
    } else {
      by_offset_->spare.back().value() = value;
      by_offset_->segments.insert(std::move(by_offset_->spare.back()));
      by_offset_->spare.pop_back();
    }
    at = segment.older;
  }
}

void CallTable::unlink(CallPool& pool, CallRef ref, std::uint32_t index) {
  CallSegment& segment = pool.get(ref)->segments[index];
  if (segment.indexed) {
    auto node = by_offset_->segments.extract(
        {segment.target.handle, segment.target.offset, ref.slot, index});
    if (by_offset_->spare.size() < kKeptEntries) by_offset_->spare.push_back(std::move(node));
  }
  Call* const older = pool.get(segment.older.call);
  Call* const newer = pool.get(segment.newer.call);
  if (older != nullptr) older->segments[segment.older.segment].newer = segment.newer;
  if (newer != nullptr) {
    newer->segments[segment.newer.segment].older = segment.older;
  } else if (older != nullptr) {
    by_handle_[segment.target.handle] = segment.older;
  } else {
    by_handle_.erase(segment.target.handle);
  }
}

CallRef CallTable::find(std::uint32_t xid) const {
  const auto it = by_xid_.find(xid);
  return it == by_xid_.end() ? CallRef{} : it->second;
}

SegmentRef CallTable::find_segment(CallPool& pool, std::uint32_t handle, std::uint64_t offset,
                                   std::uint64_t length) const {
  SegmentRef second_best;
  const auto it = by_handle_.find(handle);
  if (it == by_handle_.end()) return second_best;
  SegmentRef at = it->second;
  const Call* const newest = pool.get(at.call);
  if (newest != nullptr && newest->segments[at.segment].indexed) {
    return find_by_offset(pool, handle, offset, length);
  }
  for (std::size_t n = 0; n < kSearchedOneByOne; ++n) {
    const Call* call = pool.get(at.call);
    if (call == nullptr) break;
    const wire::Segment& s = call->segments[at.segment].target;
    const std::uint64_t into = offset - s.offset;  // wraps to a huge value when below
    const bool inside = into < s.length || (into == 0 && s.length == 0);
    if (inside && length <= s.length - into) return at;
    if (inside && second_best.call.generation == 0) second_best = at;
    at = call->segments[at.segment].older;
  }
  return second_best;
}

SegmentRef CallTable::find_by_offset(CallPool& pool, std::uint32_t handle, std::uint64_t offset,
                                     std::uint64_t length) const {
  SegmentRef best;
  bool best_fits = false;
  std::uint64_t best_id = 0;
  const ByOffset::Set& segments = by_offset_->segments;  // the handle has indexed ones
  auto it = segments.upper_bound({handle, offset, UINT32_MAX, UINT32_MAX});
  for (std::size_t n = 0; n < kMaxOverlapping && it != segments.begin(); ++n) {
    const auto& [of, begin, slot, index] = *--it;
    if (of != handle) break;
    const CallRef ref = pool.ref_of(slot);
    const Call& call = *pool.get(ref);
    const wire::Segment& s = call.segments[index].target;
    const std::uint64_t into = offset - begin;
    if (into >= s.length && (into != 0 || s.length != 0)) continue;
    const bool fits = length <= s.length - into;
    if (best_id != 0 && (fits != best_fits ? best_fits : call.message.id <= best_id)) continue;
    best = {ref, index};
    best_fits = fits;
    best_id = call.message.id;
  }
  return best;
}

bool CallTable::has_handle(std::uint32_t handle) const {
  return by_handle_.count(handle) != 0;
}

bool CallTable::current(const std::pair<std::uint32_t, CallRef>& entry) const {
  const CallRef now = find(entry.first);
  return now.slot == entry.second.slot && now.generation == entry.second.generation;
}

void CallTable::trim_order() {
  while (order_begin_ < order_.size() && !current(order_[order_begin_])) ++order_begin_;
  if (order_begin_ > 64 && order_begin_ * 2 > order_.size()) {
    order_.erase(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(order_begin_));
    order_begin_ = 0;
  }
  // Otherwise one Call that is never answered would keep all younger entries.
  if (order_.size() > 64 && order_.size() > 4 * by_xid_.size()) {
    std::erase_if(order_, [this](const auto& e) { return !current(e); });
    order_begin_ = 0;
  }
}

CallRef CallTable::oldest() {
  trim_order();
  return order_[order_begin_].second;
}

std::vector<CallRef> CallTable::in_order() const {
  std::vector<CallRef> result;
  result.reserve(by_xid_.size());
  for (std::size_t i = order_begin_; i < order_.size(); ++i) {
    if (current(order_[i])) result.push_back(order_[i].second);
  }
  return result;
}

}  // namespace rpcrdma::model
