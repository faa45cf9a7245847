#include "file_table.h"

#include <algorithm>
#include <array>
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

std::uint32_t FileTable::find_handle(std::uint64_t key) const {
  return by_handle_.find(key, [&](std::uint32_t at) { return slots_[at].key == key; });
}

std::uint32_t FileTable::find_child(std::uint64_t key) const {
  return by_name_.find(key, [&](std::uint32_t at) { return slots_[at].child_key == key; });
}

void FileTable::drop_child_key(std::uint32_t at) {
  Slot& slot = slots_[at];
  if (slot.child_key == 0) return;
  by_name_.erase(slot.child_key, at);
  slot.child_key = 0;
}

void FileTable::evict(std::uint32_t at) {
  unlink(at);
  drop_child_key(at);
  Slot& slot = slots_[at];
  by_handle_.erase(slot.key, at);
  slot.texts.clear();
  slot.handle_length = 0;
  slot.path.clear();
  slot.parent = {};
  slot.root = slot.absolute = false;
  slot.path_epoch = 0;
  if (++slot.generation == 0) slot.generation = 1;
  ++epoch_;  // paths of its children
}

// Returns a slot without a file.
std::uint32_t FileTable::make_room() {
  if (!free_.empty()) {
    const std::uint32_t at = free_.back();
    free_.pop_back();
    return at;
  }
  if (slots_.size() < most_) {
    if (slots_.empty()) slots_.reserve(most_);
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t at = oldest_;
  evict(at);
  // The files that were used longest ago are not in the cache of the processor: the next one is
  // loaded while others are still in use.
  if (oldest_ != kNone) {
    const Slot& next = slots_[oldest_];
    by_handle_.prefetch(next.key);
    by_name_.prefetch(next.child_key);
    if (next.newer != kNone) __builtin_prefetch(&slots_[next.newer]);
  }
  return at;
}

FileRef FileTable::at(std::uint64_t server, wire::Bytes handle, std::uint32_t hash) {
  const std::string_view bytes = text_of_bytes(handle);
  const std::uint64_t key = mixed(server, bytes);
  if (const std::uint32_t at = find_handle(key); at != kNone) {
    if (slots_[at].server == server && slots_[at].handle() == bytes) {
      if (newest_ != at) {
        unlink(at);
        link_newest(at);
      }
      return {at, slots_[at].generation};
    }
    evict(at);  // another handle with its key
    free_.push_back(at);
  }
  const std::uint32_t at = make_room();
  Slot& slot = slots_[at];
  slot.server = server;
  slot.key = key;
  slot.texts = bytes;
  slot.handle_length = static_cast<std::uint32_t>(bytes.size());
  slot.hash = hash;
  by_handle_.insert(key, at);
  link_newest(at);
  return {at, slot.generation};
}

void FileTable::set_root(FileRef file) {
  Slot* const slot = find(file);
  if (slot == nullptr || slot->root) return;
  drop_child_key(file.slot);
  slot->root = true;
  slot->texts.resize(slot->handle_length);
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
  if (slot->name() == name && slot->parent == parent && slot->absolute == absolute) return;
  drop_child_key(file.slot);
  slot->texts.replace(slot->handle_length, std::string::npos, name);
  slot->parent = parent;
  slot->absolute = absolute;
  ++epoch_;
  if (parent.generation == 0) return;
  const std::uint64_t key = child_key(parent, name);
  if (const std::uint32_t other = find_child(key); other != kNone) by_name_.erase(key, other);
  slot->child_key = key;
  by_name_.insert(key, file.slot);
}

bool FileTable::is_named(FileRef file) const {
  const Slot* const slot = find(file);
  return slot != nullptr && (slot->root || !slot->name().empty());
}

FileRef FileTable::child(FileRef parent, std::string_view name) const {
  const std::uint32_t at = find_child(child_key(parent, name));
  if (at == kNone) return {};
  const Slot& slot = slots_[at];
  const bool same = slot.parent == parent && slot.name() == name.substr(0, kMaxName);
  return same ? FileRef{at, slot.generation} : FileRef{};
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
  std::array<std::string_view, kMaxDepth> parts;  // the last first
  std::size_t count = 0;
  std::size_t length = 0;
  bool whole = true;
  bool rooted = false;
  const Slot* at = &slot;
  for (; at != nullptr && !at->root && !at->name().empty(); at = find(at->parent)) {
    whole = count < parts.size() && length + at->name().size() + 1 <= kMaxPath;
    if (!whole) break;
    parts[count++] = at->name();
    length += at->name().size() + 1;
    rooted = at->absolute;
  }
  rooted |= at != nullptr && at->root;
  if (count == 0) return;
  if (whole && !rooted && at != nullptr) top = at->hash;
  if (!whole) {
    out += ".../";
  } else if (rooted && !parts[count - 1].starts_with('/')) {
    out += '/';
  }
  for (std::size_t i = count; i-- > 0;) {
    out += parts[i];
    if (i != 0) out += '/';
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
