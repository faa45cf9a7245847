// Which Call an XID belongs to. XIDs are given out in order, so their low bits spread them.
#pragma once

#include "slots.h"

#include <bit>
#include <memory>

namespace rpcrdma::protocol {

class XidTable {
 public:
  // `limit`: XIDs at the same time; at least 1.
  explicit XidTable(std::uint32_t limit)
      : mask_(std::bit_ceil(limit * 2) - 1),
        entries_(std::make_unique<Entry[]>(std::size_t{mask_} + 1)) {}

  // kNoSlot: there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t xid) const {
    for (std::uint32_t at = xid & mask_; entries_[at].slot != kNoSlot; at = (at + 1) & mask_) {
      if (entries_[at].xid == xid) return entries_[at].slot;
    }
    return kNoSlot;
  }
  // Is not there, and there is room.
  void insert(std::uint32_t xid, std::uint32_t slot) {
    std::uint32_t at = xid & mask_;
    while (entries_[at].slot != kNoSlot) at = (at + 1) & mask_;
    entries_[at] = {xid, slot};
  }
  // Is there. What stood behind it because of it moves up, so that no marks of the dead remain.
  void erase(std::uint32_t xid) {
    std::uint32_t hole = xid & mask_;
    while (entries_[hole].xid != xid || entries_[hole].slot == kNoSlot) hole = (hole + 1) & mask_;
    for (std::uint32_t at = (hole + 1) & mask_; entries_[at].slot != kNoSlot;
         at = (at + 1) & mask_) {
      const std::uint32_t home = entries_[at].xid & mask_;
      if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole].slot = kNoSlot;
  }

 private:
  struct Entry {
    std::uint32_t xid = 0;
    std::uint32_t slot = kNoSlot;
  };
  std::uint32_t mask_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace rpcrdma::protocol
