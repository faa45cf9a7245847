#include "file_table.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rpcrdma::model {

namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ULL;

std::uint64_t mixed(std::uint64_t seed, std::string_view text) {
  const std::uint64_t h = (std::hash<std::string_view>{}(text) ^ (seed * kMix)) * kMix;
  return (h ^ (h >> 32)) | 1;  // 0 means none
}

}  // namespace

const FileTable::Slot* FileTable::find(FileRef file) const {
  if (file.generation == 0 || file.slot >= slots_.size()) return nullptr;
  const Slot& slot = slots_[file.slot];
  return slot.generation == file.generation ? &slot : nullptr;
}

FileTable::Slot* FileTable::find(FileRef file) {
  return const_cast<Slot*>(std::as_const(*this).find(file));
}

std::uint64_t FileTable::child_key(FileRef parent, std::string_view name) {
  return mixed((std::uint64_t{parent.slot} << 32) + parent.generation, name.substr(0, kMaxName));
}

void FileTable::unlink(std::uint32_t at) {
  const Slot& slot = slots_[at];
  (slot.older == kNone ? oldest_ : slots_[slot.older].newer) = slot.newer;
  (slot.newer == kNone ? newest_ : slots_[slot.newer].older) = slot.older;
}

void FileTable::link_newest(std::uint32_t at) {
  Slot& slot = slots_[at];
  slot.older = newest_;
  slot.newer = kNone;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = at;
  newest_ = at;
}

void FileTable::drop_child_key(std::uint32_t at) {
  Slot& slot = slots_[at];
  if (slot.child_key == 0) return;
  const auto it = by_name_.find(slot.child_key);
  if (it != by_name_.end() && it->second == at) by_name_.erase(it);
  slot.child_key = 0;
}

void FileTable::evict(std::uint32_t at) {
  unlink(at);
  drop_child_key(at);
  Slot& slot = slots_[at];
  by_handle_.erase(slot.key);
  slot.handle.clear();
  slot.name.clear();
  slot.path.clear();
  slot.parent = {};
  slot.root = slot.absolute = false;
  slot.path_epoch = 0;
  if (++slot.generation == 0) slot.generation = 1;
  ++epoch_;  // paths of its children
}

FileRef FileTable::at(std::uint64_t server, wire::Bytes handle) {
  const std::string_view bytes = text_of_bytes(handle);
  const std::uint64_t key = mixed(server, bytes);
  if (const auto it = by_handle_.find(key); it != by_handle_.end()) {
    const std::uint32_t at = it->second;
    if (slots_[at].server == server && slots_[at].handle == bytes) {
      if (newest_ != at) {
        unlink(at);
        link_newest(at);
      }
      return {at, slots_[at].generation};
    }
    evict(at);  // another handle with its key
    free_.push_back(at);
  }
  if (free_.empty() && slots_.size() >= most_) {
    const std::uint32_t oldest = oldest_;
    evict(oldest);
    free_.push_back(oldest);
  }
  std::uint32_t at = static_cast<std::uint32_t>(slots_.size());
  if (!free_.empty()) {
    at = free_.back();
    free_.pop_back();
  } else {
    slots_.emplace_back();
  }
  Slot& slot = slots_[at];
  slot.server = server;
  slot.key = key;
  slot.handle = bytes;
  slot.hash = decode::handle_hash(handle);
  by_handle_[key] = at;
  link_newest(at);
  return {at, slot.generation};
}

void FileTable::set_root(FileRef file) {
  Slot* const slot = find(file);
  if (slot == nullptr || slot->root) return;
  drop_child_key(file.slot);
  slot->root = true;
  slot->name.clear();
  slot->parent = {};
  ++epoch_;
}

void FileTable::set_name(FileRef file, FileRef parent, std::string_view name, bool absolute) {
  Slot* const slot = find(file);
  name = name.substr(0, kMaxName);
  if (slot == nullptr || slot->root || name.empty() || name == "." || name == ".." ||
      parent == file) {
    return;
  }
  if (slot->name == name && slot->parent == parent && slot->absolute == absolute) return;
  drop_child_key(file.slot);
  slot->name = name;
  slot->parent = parent;
  slot->absolute = absolute;
  ++epoch_;
  if (parent.generation == 0) return;
  slot->child_key = child_key(parent, name);
  by_name_[slot->child_key] = file.slot;
}

bool FileTable::is_named(FileRef file) const {
  const Slot* const slot = find(file);
  return slot != nullptr && (slot->root || !slot->name.empty());
}

FileRef FileTable::child(FileRef parent, std::string_view name) const {
  const auto it = by_name_.find(child_key(parent, name));
  if (it == by_name_.end()) return {};
  const Slot& slot = slots_[it->second];
  const bool same = slot.parent == parent && slot.name == name.substr(0, kMaxName);
  return same ? FileRef{it->second, slot.generation} : FileRef{};
}

FileRef FileTable::parent(FileRef file) const {
  const Slot* const slot = find(file);
  return slot != nullptr ? slot->parent : FileRef{};
}

void FileTable::remove(FileRef parent, std::string_view name) {
  const FileRef found = child(parent, name);
  if (found.generation != 0) drop_child_key(found.slot);
}

void FileTable::build_path(const Slot& slot, std::string& out,
                           std::optional<std::uint32_t>& top) const {
  if (slot.root) {
    out += '/';
    return;
  }
  std::vector<std::string_view> parts;
  std::size_t length = 0;
  bool whole = true;
  bool rooted = false;
  const Slot* at = &slot;
  for (; at != nullptr && !at->root && !at->name.empty(); at = find(at->parent)) {
    whole = parts.size() < kMaxDepth && length + at->name.size() + 1 <= kMaxPath;
    if (!whole) break;
    parts.push_back(at->name);
    length += at->name.size() + 1;
    rooted = at->absolute;
  }
  rooted |= at != nullptr && at->root;
  if (parts.empty()) return;
  if (whole && !rooted && at != nullptr) top = at->hash;
  if (!whole) {
    out += ".../";
  } else if (rooted && !parts.back().starts_with('/')) {
    out += '/';
  }
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    if (it != parts.rbegin()) out += '/';
    out += *it;
  }
}

void FileTable::refresh_path(Slot& slot) {
  if (slot.path_epoch == epoch_) return;
  slot.path.clear();
  slot.top.reset();
  build_path(slot, slot.path, slot.top);
  slot.path_epoch = epoch_;
}

void FileTable::append_path(FileRef file, std::string& out) {
  Slot* const slot = find(file);
  if (slot == nullptr) return;
  refresh_path(*slot);
  out += slot->path;
}

std::optional<std::uint32_t> FileTable::top(FileRef file) {
  Slot* const slot = find(file);
  if (slot == nullptr) return std::nullopt;
  refresh_path(*slot);
  return slot->top;
}

std::optional<std::uint32_t> FileTable::hash(FileRef file) const {
  const Slot* const slot = find(file);
  return slot != nullptr ? std::optional(slot->hash) : std::nullopt;
}

}  // namespace rpcrdma::model
