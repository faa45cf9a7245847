#include "counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

// Clang's runtime of ThreadSanitizer has an `operator new` of its own and lets no program define another.
#if defined(__clang__)
#if __has_feature(thread_sanitizer)
#define COUNTED_BY_RUNTIME 1
#endif
#endif

namespace {
// Tests with threads link this, too: relaxed is enough, since a test counts what is its own.
std::atomic<std::size_t> count = 0;
std::atomic<std::size_t> live = 0;
}  // namespace

#if defined(COUNTED_BY_RUNTIME)
// It tells of malloc(), too. Called before main(), so not instrumented.
extern "C" [[clang::disable_sanitizer_instrumentation]] void __sanitizer_malloc_hook(
    const volatile void* p, std::size_t) {
  count.fetch_add(1, std::memory_order_relaxed);
  live.fetch_add(::malloc_usable_size(const_cast<void*>(p)), std::memory_order_relaxed);
}
extern "C" [[clang::disable_sanitizer_instrumentation]] void __sanitizer_free_hook(
    const volatile void* p) {
  live.fetch_sub(::malloc_usable_size(const_cast<void*>(p)), std::memory_order_relaxed);
}
#else
namespace {
void give_back(void* p) noexcept {
  live.fetch_sub(::malloc_usable_size(p), std::memory_order_relaxed);
  std::free(p);
}
}  // namespace

// None is inlined: a compiler that sees free() behind a `new` expression warns of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) {
    live.fetch_add(::malloc_usable_size(p), std::memory_order_relaxed);
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
#endif

std::size_t rpcrdma::wire::testing::allocations() {
  return count.load(std::memory_order_relaxed);
}
std::size_t rpcrdma::wire::testing::live_bytes() {
  return live.load(std::memory_order_relaxed);
}
