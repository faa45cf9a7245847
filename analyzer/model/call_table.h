// The in-flight Calls of one side of one connection, or those whose Replies are being read, found
// by XID, by handle, and in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Stores Calls in slots that are reused, together with the memory of their lists if that is small.
class CallPool {
 public:
  CallRef create();
  void release(CallRef ref);
  [[nodiscard]] Call* get(CallRef ref);
  [[nodiscard]] CallRef ref_of(std::uint32_t slot) const {
    return {slot, slots_[slot]->generation};
  }
  // The Call created first; generation 0: there is none.
  [[nodiscard]] CallRef oldest() const;

 private:
  static constexpr std::size_t kMaxSpareBytes = std::size_t{4} << 20;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Slot {
    Call call;
    std::uint32_t generation = 1;
    std::uint32_t older = kNone, newer = kNone;  // while it is in use
    std::size_t spare_bytes = 0;                 // while it is free
  };
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t oldest_ = kNone, newest_ = kNone;
  std::size_t spare_bytes_ = 0;  // of all free slots
};

class CallTable {
 public:
  // Only its segments from `first` on are found. They must not change while it is in the table.
  void insert(CallPool& pool, CallRef ref, std::uint32_t first = 0);
  void erase(CallPool& pool, CallRef ref, std::uint32_t first = 0);

  [[nodiscard]] CallRef find(std::uint32_t xid) const;  // generation 0: none
  // Returns the segment of `handle` that contains [offset, offset + length), the newest Call's
  // first; otherwise the segment that contains `offset`, so that an operation that overruns
  // the segment is still joined. Generation 0: none.
  [[nodiscard]] SegmentRef find_segment(CallPool& pool, std::uint32_t handle, std::uint64_t offset,
                                        std::uint64_t length) const;
  [[nodiscard]] bool has_handle(std::uint32_t handle) const;

  [[nodiscard]] std::size_t size() const { return by_xid_.size(); }
  // The Call in flight longest; the table must not be empty.
  [[nodiscard]] CallRef oldest();
  [[nodiscard]] std::vector<CallRef> in_order() const;

 private:
  tsl::robin_map<std::uint32_t, CallRef> by_xid_;
  // The newest segment with a handle; older ones are chained in CallSegment::older.
  tsl::robin_map<std::uint32_t, SegmentRef> by_handle_;
  // The segments of handles that very many segments have: by handle, offset, slot of the Call and
  // index.
  struct ByOffset {
    using Set = std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>>;
    Set segments;
    std::vector<Set::node_type> spare;  // of segments that were removed, for the next ones
  };
  std::unique_ptr<ByOffset> by_offset_;  // null: there are none
  // Insertion order; entries of ended Calls are skipped and removed in bulk.
  std::vector<std::pair<std::uint32_t, CallRef>> order_;
  std::size_t order_begin_ = 0;

  void trim_order();
  void give_back();
  void unlink(CallPool& pool, CallRef ref, std::uint32_t index);
  [[nodiscard]] static std::uint32_t count_older(CallPool& pool, SegmentRef at);
  void index_by_offset(CallPool& pool, SegmentRef newest);
  [[nodiscard]] SegmentRef find_by_offset(CallPool& pool, std::uint32_t handle,
                                          std::uint64_t offset, std::uint64_t length) const;
  static void mark_shared(CallPool& pool, CallRef ref, CallSegment& segment);
  [[nodiscard]] bool current(const std::pair<std::uint32_t, CallRef>& entry) const;
};

}  // namespace rpcrdma::model
