// Finds the slot of a key: a hash table of slot numbers, eight bytes an entry, so that the entries
// of many keys stay in the cache of the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rpcrdma::model {

// Keys are hashes. The table keeps 32 bits of each; the owner knows the whole key of a slot.
class SlotIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Returns the slot for which `has_key` is true, or kNone.
  template <typename HasKey>
  [[nodiscard]] std::uint32_t find(std::uint64_t key, const HasKey& has_key) const {
    if (entries_.empty()) return kNone;
    const auto tag = static_cast<std::uint32_t>(key);
    for (std::size_t at = tag & mask();; at = (at + 1) & mask()) {
      const Entry& entry = entries_[at];
      if (entry.slot == kNone) return kNone;
      if (entry.tag == tag && has_key(entry.slot)) return entry.slot;
    }
  }

  // Adds a slot. Its key must not be there yet.
  void insert(std::uint64_t key, std::uint32_t slot) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    ++size_;
    place({static_cast<std::uint32_t>(key), slot});
  }

  // Removes a slot; does nothing if it is not there with this key.
  void erase(std::uint64_t key, std::uint32_t slot) {
    if (entries_.empty()) return;
    std::size_t hole = static_cast<std::uint32_t>(key) & mask();
    for (; entries_[hole].slot != slot; hole = (hole + 1) & mask()) {
      if (entries_[hole].slot == kNone) return;
    }
    --size_;
    // Entries behind the hole move into it, unless they would then be in front of their place.
    for (std::size_t at = hole;;) {
      at = (at + 1) & mask();
      const Entry entry = entries_[at];
      if (entry.slot == kNone) break;
      if (((at - entry.tag) & mask()) < ((at - hole) & mask())) continue;
      entries_[hole] = entry;
      hole = at;
    }
    entries_[hole] = {};
  }

  // Begins to load the place of a key into the cache.
  void prefetch(std::uint64_t key) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[static_cast<std::uint32_t>(key) & mask()]);
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint32_t tag = 0;  // the lower half of the key, whose lowest bits are the place
    std::uint32_t slot = kNone;
  };

  [[nodiscard]] std::size_t mask() const { return entries_.size() - 1; }
  void place(Entry entry) {
    std::size_t at = entry.tag & mask();
    while (entries_[at].slot != kNone) at = (at + 1) & mask();
    entries_[at] = entry;
  }
  void grow() {
    constexpr std::size_t kFewest = 64;
    std::vector<Entry> old(entries_.empty() ? kFewest : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.slot != kNone) place(entry);
    }
  }

  std::vector<Entry> entries_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::model
