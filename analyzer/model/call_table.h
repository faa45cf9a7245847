// The outstanding Calls of one side of one connection: found by XID, by handle, and in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/model/call.h>
#include <tsl/robin_map.h>

namespace rpcrdma::model {

// Calls live in slots that are used again; a reference holds a generation, so that one to a Call that
// is over is known as such.
struct CallRef {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

class CallPool {
 public:
  CallRef create();
  void release(CallRef ref);
  [[nodiscard]] Call* get(CallRef ref);
  [[nodiscard]] CallRef ref_of(std::uint32_t slot) const { return {slot, slots_[slot]->generation}; }

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
  struct Target {
    CallRef call;
    std::uint32_t segment = 0;
    bool found = false;
  };

  // The Call's segments must not change afterwards.
  void insert(CallPool& pool, CallRef ref);
  void erase(CallPool& pool, CallRef ref);

  [[nodiscard]] CallRef find(std::uint32_t xid) const;  // generation 0: none
  // The segment that [offset, offset + length) of `handle` lies in, the newest Call first; failing
  // that the one that `offset` lies in, so that an operation that runs over the end is still joined.
  [[nodiscard]] Target find_segment(CallPool& pool, std::uint32_t handle, std::uint64_t offset,
                                    std::uint64_t length) const;
  [[nodiscard]] bool has_handle(std::uint32_t handle) const;

  [[nodiscard]] std::size_t size() const { return by_xid_.size(); }
  // The Call outstanding longest; the table must not be empty.
  [[nodiscard]] CallRef oldest();
  [[nodiscard]] std::vector<CallRef> in_order() const;

 private:
  struct SegmentRef {
    CallRef call;
    std::uint32_t segment = 0;
  };
  tsl::robin_map<std::uint32_t, CallRef> by_xid_;
  tsl::robin_map<std::uint32_t, std::vector<SegmentRef>> by_handle_;
  // Insertion order; entries of Calls that are over are skipped and cleared away in bulk.
  std::vector<std::pair<std::uint32_t, CallRef>> order_;
  std::size_t order_begin_ = 0;

  void trim_order();
  [[nodiscard]] bool current(const std::pair<std::uint32_t, CallRef>& entry) const;
};

}  // namespace rpcrdma::model
