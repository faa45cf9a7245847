// Which Call an XID belongs to. XIDs are given out in order, so their low bits spread them. It
// grows to what was needed at a time, and keeps that.
#pragma once

#include "slots.h"

#include <utility>
#include <vector>

namespace rpcrdma::protocol {

class XidTable {
 public:
  // kNoSlot: there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t xid) const {
    for (std::uint32_t at = xid & mask_; entries_[at].slot != kNoSlot; at = (at + 1) & mask_) {
      if (entries_[at].xid == xid) return entries_[at].slot;
    }
    return kNoSlot;
  }
  // Is not there.
  void insert(std::uint32_t xid, std::uint32_t slot) {
    if (++size_ * 2 > entries_.size()) grow();
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
    --size_;
  }

 private:
  struct Entry {
    std::uint32_t xid = 0;
    std::uint32_t slot = kNoSlot;
  };
  static constexpr std::size_t kFirst = 16;

  void grow() {
    const auto before = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    mask_ = static_cast<std::uint32_t>(entries_.size() - 1);
    for (const Entry& e : before) {
      if (e.slot == kNoSlot) continue;
      std::uint32_t at = e.xid & mask_;
      while (entries_[at].slot != kNoSlot) at = (at + 1) & mask_;
      entries_[at] = e;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kFirst);  // a power of two
  std::uint32_t mask_ = kFirst - 1;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::protocol
