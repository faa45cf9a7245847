#include "handles.h"

#include <cerrno>

namespace rpcrdma::verbs {

Handles::~Handles() {
  for (const auto& [key, entry] : entries_) give_up(entry);
}

void Handles::give_up(const Entry& entry) {
  if (entry.window != nullptr) (void)::ibv_dealloc_mw(entry.window);
  if (entry.registration != nullptr) (void)::ibv_dereg_mr(entry.registration);
}

Handles::Window Handles::take_window(std::uint32_t owner) {
  if (free_.empty()) {
    ibv_mw* const fresh = ::ibv_alloc_mw(domain_, IBV_MW_TYPE_2);
    if (fresh == nullptr) return {};
    const std::uint32_t key = key_of(fresh->rkey);
    entries_[key] = {fresh, nullptr, kFree, fresh->rkey, false};
    if (free_.capacity() < entries_.size()) free_.reserve(2 * entries_.size());
    free_.push_back(key);
  }
  Entry& entry = entries_.find(free_.back())->second;
  free_.pop_back();
  entry.owner = owner;
  entry.handle = ::ibv_inc_rkey(entry.handle);
  entry.ending = false;
  ++count_[owner];
  return {entry.window, entry.handle};
}

ibv_mr* Handles::register_memory(std::uint32_t owner, void* data, std::size_t length, int access) {
  ibv_mr* const made = ::ibv_reg_mr(domain_, data, length, static_cast<unsigned>(access));
  if (made == nullptr) return nullptr;
  entries_[key_of(made->rkey)] = {nullptr, made, owner, made->rkey, false};
  ++count_[owner];
  return made;
}

Handles::Entry* Handles::find(std::uint32_t owner, std::uint32_t handle) {
  const auto found = entries_.find(key_of(handle));
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  return entry.owner == owner && entry.handle == handle ? &entry : nullptr;
}

bool Handles::begin_end(std::uint32_t owner, std::uint32_t handle) {
  Entry* const entry = find(owner, handle);
  if (entry == nullptr || entry->ending) return false;
  entry->ending = true;
  return true;
}

bool Handles::end(std::uint32_t owner, std::uint32_t handle) {
  Entry* const entry = find(owner, handle);
  if (entry == nullptr) return false;
  --count_[owner];
  if (entry->registration != nullptr) {
    give_up(*entry);
    entries_.erase(key_of(handle));
    return true;
  }
  entry->owner = kFree;
  free_.push_back(key_of(handle));
  return true;
}

void Handles::end_all(std::uint32_t owner) {
  std::erase_if(entries_, [&](const auto& item) {
    if (item.second.owner != owner) return false;
    give_up(item.second);
    return true;
  });
  count_.erase(owner);
}

std::size_t Handles::of(std::uint32_t owner) const {
  const auto found = count_.find(owner);
  return found == count_.end() ? 0 : found->second;
}

}  // namespace rpcrdma::verbs
