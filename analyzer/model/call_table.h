// The in-flight Calls of one side of one connection, found by XID, by handle, and in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  // The Call's segments must not change after this.
  void insert(CallPool& pool, CallRef ref);
  void erase(CallPool& pool, CallRef ref);

  [[nodiscard]] CallRef find(std::uint32_t xid) const;  // generation 0: none
  // Returns the segment of `handle` that contains [offset, offset + length), searching the newest
  // Call first; otherwise the segment that contains `offset`, so that an operation that overruns
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
  // Insertion order; entries of ended Calls are skipped and removed in bulk.
  std::vector<std::pair<std::uint32_t, CallRef>> order_;
  std::size_t order_begin_ = 0;

  void trim_order();
  void give_back();
  void unlink(CallPool& pool, CallSegment& segment);
  static void mark_shared(CallPool& pool, CallRef ref, CallSegment& segment);
  [[nodiscard]] bool current(const std::pair<std::uint32_t, CallRef>& entry) const;
};

}  // namespace rpcrdma::model
