// Which Call an XID belongs to. XIDs are given out in order, so their low bits spread them: those
// of all Calls that are outstanding lie in one run, mostly each in its home. None is farther from
// its home than one that stands behind it would be there, so that a look need not go through the
// run. It grows to what was needed at a time, and keeps that.
#pragma once

#include "slots.h"

#include <utility>
#include <vector>

namespace rpcrdma::protocol {

class XidTable {
 public:
  // kNoSlot: there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t xid) const {
    std::uint32_t distance = 0;
    for (std::uint32_t at = xid & mask_; entries_[at].slot != kNoSlot; at = (at + 1) & mask_) {
      if (entries_[at].xid == xid) return entries_[at].slot;
      if (distance_of(at) < distance++) break;
    }
    return kNoSlot;
  }
  // Is not there.
  void insert(std::uint32_t xid, std::uint32_t slot) {
    reserve_one();
    ++size_;
    put({xid, slot});
  }
  // The next insert() needs no memory.
  void reserve_one() {
    if ((size_ + 1) * 2 > entries_.size()) grow();
  }
  // Is there. What stood behind it because of it moves up, so that no marks of the dead remain.
  void erase(std::uint32_t xid) {
    std::uint32_t hole = xid & mask_;
    while (entries_[hole].xid != xid || entries_[hole].slot == kNoSlot) hole = (hole + 1) & mask_;
    for (std::uint32_t at = (hole + 1) & mask_;
         entries_[at].slot != kNoSlot && distance_of(at) != 0; at = (at + 1) & mask_) {
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

  // From the home of the one that is there.
  [[nodiscard]] std::uint32_t distance_of(std::uint32_t at) const {
    return (at - entries_[at].xid) & mask_;
  }

  void put(Entry entry) {
    std::uint32_t distance = 0;
    std::uint32_t at = entry.xid & mask_;
    for (; entries_[at].slot != kNoSlot; at = (at + 1) & mask_, ++distance) {
      if (distance_of(at) >= distance) continue;
      distance = distance_of(at);
      std::swap(entry, entries_[at]);
    }
    entries_[at] = entry;
  }

  void grow() {
    std::vector<Entry> larger(2 * entries_.size());
    const auto before = std::exchange(entries_, std::move(larger));
    mask_ = static_cast<std::uint32_t>(entries_.size() - 1);
    for (const Entry& e : before) {
      if (e.slot != kNoSlot) put(e);
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kFirst);  // a power of two
  std::uint32_t mask_ = kFirst - 1;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::protocol
