#include "counting_new.h"

#include <cstdlib>
#include <new>

#include <malloc.h>

namespace {
std::size_t count = 0;
std::size_t live = 0;

void give_back(void* p) noexcept {
  live -= ::malloc_usable_size(p);
  std::free(p);
}
}  // namespace

// None is inlined: a compiler that sees free() behind a `new` expression warns of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++count;
  if (void* p = std::malloc(size == 0 ? 1 : size)) {
    live += ::malloc_usable_size(p);
    return p;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  give_back(p);
}

std::size_t rpcrdma::wire::testing::allocations() {
  return count;
}
std::size_t rpcrdma::wire::testing::live_bytes() {
  return live;
}
