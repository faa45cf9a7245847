// Memory for RapidJSON. Its own allocator returns null when there is none, which RapidJSON then
// writes to; this one throws std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace rpcrdma::report {

// A RapidJSON Allocator.
class JsonMemory {
 public:
  // NOLINTBEGIN(readability-identifier-naming): RapidJSON's names.
  static constexpr bool kNeedFree = true;
  static constexpr bool kRefCounted = false;

  void* Malloc(std::size_t bytes) { return bytes == 0 ? nullptr : ::operator new(bytes); }
  // If it throws, `old` is unchanged.
  void* Realloc(void* old, std::size_t old_bytes, std::size_t bytes) {
    void* const moved = Malloc(bytes);
    if (old != nullptr && moved != nullptr) std::memcpy(moved, old, std::min(old_bytes, bytes));
    Free(old);
    return moved;
  }
  static void Free(void* bytes) noexcept { ::operator delete(bytes); }
  // NOLINTEND(readability-identifier-naming)

  friend bool operator==(const JsonMemory&, const JsonMemory&) { return true; }
};

}  // namespace rpcrdma::report
