#include "counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

// Clang's ThreadSanitizer runtime defines its own `operator new` and allows no replacement.
#if defined(__clang__)
#if __has_feature(thread_sanitizer)
#define COUNTED_BY_RUNTIME 1
#endif
#endif

namespace {
// Tests with threads link this file, too. Relaxed order is enough, since a test counts only its own
// allocations.
std::atomic<std::size_t> count = 0;
std::atomic<std::size_t> live = 0;
thread_local rpcrdma::wire::testing::FailingNew* failing = nullptr;
constexpr std::int64_t kNever = INT64_MAX;
// Allocations of any thread that succeed before one fails; negative: it has failed.
std::atomic<std::int64_t> until_one_fails = kNever;
}  // namespace

namespace rpcrdma::wire::testing {

FailingNew::Scope::Scope(FailingNew* in) : before_(failing) {
  failing = in;
}
FailingNew::Scope::~Scope() {
  failing = before_;
}

FailingEverywhere::FailingEverywhere(std::size_t succeed) {
  until_one_fails = static_cast<std::int64_t>(succeed);
}
FailingEverywhere::~FailingEverywhere() {
  until_one_fails = kNever;
}
bool FailingEverywhere::hit() const {
  return until_one_fails.load(std::memory_order_relaxed) < 0;
}

bool FailingNew::next_fails() {
  if (until_one_fails.load(std::memory_order_relaxed) != kNever &&
      until_one_fails.fetch_sub(1, std::memory_order_relaxed) == 0) {
    return true;
  }
  if (failing == nullptr || failing->fail_ == 0) return false;
  if (failing->succeed_ != 0) {
    --failing->succeed_;
    return false;
  }
  if (failing->fail_ != kAll) --failing->fail_;
  failing->hit_ = true;
  return true;
}

}  // namespace rpcrdma::wire::testing

#if defined(COUNTED_BY_RUNTIME)
// Also reports malloc(). Called before main(), so not instrumented.
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

using rpcrdma::wire::testing::FailingNew;

void* allocate(std::size_t size) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  void* const p = FailingNew::next_fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (p != nullptr) live.fetch_add(::malloc_usable_size(p), std::memory_order_relaxed);
  return p;
}
// Over-aligned allocations, such as slabs, are not counted.
void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  void* p = nullptr;
  if (FailingNew::next_fails()) return nullptr;
  return ::posix_memalign(&p, static_cast<std::size_t>(alignment), size) == 0 ? p : nullptr;
}
void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void give_back(void* p) noexcept {
  live.fetch_sub(::malloc_usable_size(p), std::memory_order_relaxed);
  std::free(p);
}

}  // namespace

// All forms are replaced: a sanitizer supplies its own for those that a program omits, and reports
// a mismatch if one allocator's block is freed by the other. None is inlined: a compiler that sees
// free() after a `new` expression warns of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return or_throw(allocate(size));
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return or_throw(allocate(size));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  return allocate(size, alignment);
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete[](void* p) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete[](void* p, const std::nothrow_t&) noexcept {
  give_back(p);
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
#endif

std::size_t rpcrdma::wire::testing::allocations() {
  return count.load(std::memory_order_relaxed);
}
std::size_t rpcrdma::wire::testing::live_bytes() {
  return live.load(std::memory_order_relaxed);
}
