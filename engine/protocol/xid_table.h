// Maps XIDs to Calls. XIDs are assigned in order, so their low bits distribute them: the XIDs of
// all in-flight Calls form one run, mostly each in its home position. An entry that is farther from
// its home displaces a nearer one (Robin Hood hashing), so a look-up need not search the whole run.
// The table grows to the most that were needed at a time, and keeps that size.
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
  // Must not be there.
  void insert(std::uint32_t xid, std::uint32_t slot) {
    reserve_one();
    ++size_;
    put({xid, slot});
  }
  // The next insert() needs no memory.
  void reserve_one() {
    if ((size_ + 1) * 2 > entries_.size()) grow();
  }
  // Must be there. Displaced entries after it move up, so that no tombstones remain.
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

  // From the home of the entry there.
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
