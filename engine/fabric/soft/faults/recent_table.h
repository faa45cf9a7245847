// A table of bounded size that evicts the least recently used entry when it is full.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace rpcrdma::soft {

template <typename Key, typename Value, typename Hash>
class RecentTable {
 public:
  explicit RecentTable(std::size_t limit) : limit_(limit == 0 ? 1 : limit) {}

  // Returns null if there is none.
  Value* find(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // Returns a new value for the key, replacing a present one.
  Value& put(const Key& key) {
    if (Value* const value = find(key)) {
      *value = Value();
      return *value;
    }
    if (entries_.size() == limit_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, Value());
    places_.emplace(key, entries_.begin());
    return entries_.front().second;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::size_t limit_;
  std::list<std::pair<Key, Value>> entries_;  // most recently used first
  std::unordered_map<Key, typename std::list<std::pair<Key, Value>>::iterator, Hash> places_;
};

}  // namespace rpcrdma::soft
