// The outstanding Calls of one side of one connection: found by XID, by handle, and in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Calls live in slots that are used again.
class CallPool {
 public:
  CallRef create();
  void release(CallRef ref);
  [[nodiscard]] Call* get(CallRef ref);
  [[nodiscard]] CallRef ref_of(std::uint32_t slot) const {
    return {slot, slots_[slot]->generation};
  }

 private:
  struct Slot {
    Call call;
    std::uint32_t generation = 1;
  };
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::uint32_t> free_;
};

class CallTable {
 public:
  // The Call's segments must not change afterwards.
  void insert(CallPool& pool, CallRef ref);
  void erase(CallPool& pool, CallRef ref);

  [[nodiscard]] CallRef find(std::uint32_t xid) const;  // generation 0: none
  // The segment that [offset, offset + length) of `handle` lies in, the newest Call first; failing
  // that the one that `offset` lies in, so that an operation that runs over the end is still
  // joined. Generation 0: none.
  [[nodiscard]] SegmentRef find_segment(CallPool& pool, std::uint32_t handle, std::uint64_t offset,
                                        std::uint64_t length) const;
  [[nodiscard]] bool has_handle(std::uint32_t handle) const;

  [[nodiscard]] std::size_t size() const { return by_xid_.size(); }
  // The Call outstanding longest; the table must not be empty.
  [[nodiscard]] CallRef oldest();
  [[nodiscard]] std::vector<CallRef> in_order() const;

 private:
  tsl::robin_map<std::uint32_t, CallRef> by_xid_;
  // The newest segment with a handle; older ones are chained in CallSegment::older.
  tsl::robin_map<std::uint32_t, SegmentRef> by_handle_;
  // Insertion order; entries of Calls that are over are skipped and cleared away in bulk.
  std::vector<std::pair<std::uint32_t, CallRef>> order_;
  std::size_t order_begin_ = 0;

  void trim_order();
  static void mark_shared(CallPool& pool, CallRef ref, CallSegment& segment);
  [[nodiscard]] bool current(const std::pair<std::uint32_t, CallRef>& entry) const;
};

}  // namespace rpcrdma::model
