#include "huge_heap.h"

#include <cstdint>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rpcrdma::cli {
namespace {

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
// By which the heap grows at a time: more than the analysis of a capture takes but for what is
// outstanding. The advice is for the first such piece.
constexpr int kGrowth = 64 << 20;
// What is larger stands outside of the heap, and is given back when it is freed.
constexpr int kLarge = 1 << 20;

}  // namespace

void use_huge_pages() {
  if (::mallopt(M_MMAP_THRESHOLD, kLarge) == 0 || ::mallopt(M_TOP_PAD, kGrowth) == 0 ||
      ::mallopt(M_TRIM_THRESHOLD, 2 * kGrowth) == 0) {
    return;
  }
  // As much as never is free at the heap's end without it having grown.
  void* const last = std::malloc(kLarge / 2);
  const auto begin = reinterpret_cast<std::uintptr_t>(last);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  const std::uintptr_t aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  if (last != nullptr && aligned < end && end - begin <= 2 * std::uintptr_t{kGrowth}) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the next huge page's, of no object
    ::madvise(reinterpret_cast<void*>(aligned), end - aligned, MADV_HUGEPAGE);
  }
  std::free(last);
}

}  // namespace rpcrdma::cli
