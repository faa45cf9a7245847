#include "live_bytes.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace {
rpcrdma::report::testing::Heap state;

void* obtain(std::size_t size) noexcept {
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) return nullptr;
  ++state.allocations;
  state.live += malloc_usable_size(p);
  state.peak = std::max(state.peak, state.live);
  return p;
}

void release(void* p) noexcept {
  if (p == nullptr) return;
  state.live -= malloc_usable_size(p);
  std::free(p);
}
}  // namespace

// Not inlined: a compiler that sees free() after a `new` expression warns of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* p = obtain(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return obtain(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  release(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  release(p);
}

rpcrdma::report::testing::Heap rpcrdma::report::testing::heap() {
  return state;
}
void rpcrdma::report::testing::reset_peak() {
  state.peak = state.live;
}
