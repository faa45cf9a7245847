// Registered memory and advertised handles: lookup by keys, with a check of bounds and access
// rights.
#include "memory_table.h"

#include <algorithm>

namespace rpcrdma::soft {

using fabric::Errc;
using fabric::fail;

namespace {

// A key is an index and a byte that changes with each use of the index, so that a stale key is not
// mistaken for its successor. Index 0 is unused: no key is 0.
constexpr std::uint32_t kMaxIndex = (1U << 24) - 1;
constexpr std::uint32_t make_key(std::size_t index, std::uint8_t key) {
  return static_cast<std::uint32_t>(index + 1) << 8 | key;
}
constexpr std::size_t index_of(std::uint32_t key) {
  return (key >> 8) - std::size_t{1};  // index 0: beyond any table
}

template <typename Entry>
bool take_free(std::vector<Entry>& table, std::vector<std::uint32_t>& free, std::size_t& index) {
  if (!free.empty()) {
    index = free.back();
    free.pop_back();
    return true;
  }
  if (table.size() >= kMaxIndex) return false;
  index = table.size();
  if (index == table.capacity()) {
    constexpr std::size_t kFirst = 4;
    const std::size_t larger = std::max(2 * index, kFirst);
    free.reserve(larger);  // so that freeing never allocates
    table.reserve(larger);
  }
  table.emplace_back();
  return true;
}

}  // namespace

fabric::Expected<fabric::Memory> MemoryTable::register_memory(std::span<std::uint8_t> memory) {
  if (memory.empty()) return fail(Errc::kBadArgument, "cannot register 0 bytes");
  std::size_t index = 0;
  if (!take_free(locals_, free_locals_, index)) {
    return fail(Errc::kNoRoom, "too many memory registrations");
  }
  Local& l = locals_[index];
  l.data = memory.data();
  l.length = memory.size();
  return fabric::Memory{l.data, l.length, make_key(index, l.key)};
}

void MemoryTable::deregister_memory(std::uint32_t local_key) {
  const std::size_t index = index_of(local_key);
  if (index >= locals_.size()) return;
  Local& l = locals_[index];
  if (l.length == 0 || l.key != static_cast<std::uint8_t>(local_key)) return;
  l.length = 0;
  ++l.key;
  free_locals_.push_back(static_cast<std::uint32_t>(index));
}

bool MemoryTable::is_local(const fabric::Slice& slice) const {
  if (slice.length == 0) return true;
  const std::size_t index = index_of(slice.local_key);
  if (index >= locals_.size()) return false;
  const Local& l = locals_[index];
  if (l.key != static_cast<std::uint8_t>(slice.local_key)) return false;
  const auto from = reinterpret_cast<std::uintptr_t>(l.data);
  const auto at = reinterpret_cast<std::uintptr_t>(slice.data);
  return at >= from && at - from <= l.length && slice.length <= l.length - (at - from);
}

fabric::Expected<void> MemoryTable::local(std::span<const fabric::Slice> slices,
                                          Slices& all) const {
  if (slices.size() > fabric::kMaxSlices) return fail(Errc::kBadArgument, "too many slices");
  std::uint64_t length = 0;
  all.count = 0;
  for (const fabric::Slice& s : slices) {
    if (!is_local(s)) {
      return fail(Errc::kBadArgument, "a slice lies outside registered memory");
    }
    all.slice[all.count++] = s;
    length += s.length;
  }
  if (length > kMaxMessage) return fail(Errc::kBadArgument, "more than 2 GiB at once");
  all.length = static_cast<std::uint32_t>(length);
  return {};
}

fabric::Expected<fabric::MemoryRegion> MemoryTable::advertise(HandleOwner& owner,
                                                              const fabric::Memory& memory,
                                                              std::uint8_t* data,
                                                              std::uint32_t length,
                                                              fabric::Access access) {
  if (length == 0 || !is_local({data, length, memory.local_key})) {
    return fail(Errc::kBadArgument, "the advertised range lies outside its memory");
  }
  constexpr fabric::Access kRemoteAccess =
      fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite;
  if (access == fabric::Access{} || !fabric::allows(kRemoteAccess, access)) {
    return fail(Errc::kBadArgument, "invalid access rights");
  }
  std::size_t index = 0;
  if (!take_free(handles_, free_handles_, index)) return fail(Errc::kNoRoom, "too many handles");
  Handle& h = handles_[index];
  h.data = data;
  h.length = length;
  h.qpn = owner.qpn;
  h.access = access;
  h.previous = 0;
  h.next = owner.first;
  if (h.next != 0) handles_[h.next - 1].previous = static_cast<std::uint32_t>(index + 1);
  owner.first = static_cast<std::uint32_t>(index + 1);
  ++owner.count;
  // No offset is valid for another handle, which exposes a peer that confuses handles.
  h.offset = ++serial_ << 32;
  ++advertised_;
  return fabric::MemoryRegion{make_key(index, h.key), h.offset};
}

const MemoryTable::Handle* MemoryTable::get(std::uint32_t qpn, std::uint32_t handle) const {
  const std::size_t index = index_of(handle);
  if (index >= handles_.size()) return nullptr;
  const Handle& h = handles_[index];
  return h.qpn == qpn && qpn != 0 && h.key == static_cast<std::uint8_t>(handle) ? &h : nullptr;
}

bool MemoryTable::invalidate(HandleOwner& owner, std::uint32_t handle) {
  if (get(owner.qpn, handle) == nullptr) return false;
  const std::size_t index = index_of(handle);
  Handle& h = handles_[index];
  if (h.previous != 0) {
    handles_[h.previous - 1].next = h.next;
  } else {
    owner.first = h.next;
  }
  if (h.next != 0) handles_[h.next - 1].previous = h.previous;
  h.qpn = 0;
  ++h.key;
  --owner.count;
  --advertised_;
  free_handles_.push_back(static_cast<std::uint32_t>(index));
  return true;
}

void MemoryTable::invalidate_all(HandleOwner& owner) {
  while (owner.first != 0) {
    const std::size_t index = owner.first - 1;
    invalidate(owner, make_key(index, handles_[index].key));
  }
}

std::uint8_t* MemoryTable::find(std::uint32_t qpn, std::uint32_t handle, std::uint64_t offset,
                                std::uint64_t length, fabric::Access access) const {
  const Handle* const h = get(qpn, handle);
  if (h == nullptr || !fabric::allows(h->access, access)) return nullptr;
  if (offset < h->offset || offset - h->offset > h->length) return nullptr;
  return length <= h->length - (offset - h->offset) ? h->data + (offset - h->offset) : nullptr;
}

}  // namespace rpcrdma::soft
