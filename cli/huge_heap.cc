#include "huge_heap.h"

#include <cstdint>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rpcrdma::cli {
namespace {

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
// How much the heap grows at a time: more than an analysis needs apart from in-flight state. The
// advice applies to the first such piece.
constexpr int kGrowth = 64 << 20;
// Larger allocations are outside the heap and are unmapped when freed.
constexpr int kLarge = 1 << 20;

}  // namespace

void use_huge_pages() {
  if (::mallopt(M_MMAP_THRESHOLD, kLarge) == 0 || ::mallopt(M_TOP_PAD, kGrowth) == 0 ||
      ::mallopt(M_TRIM_THRESHOLD, 2 * kGrowth) == 0) {
    return;
  }
  // Larger than any free piece at the end of the heap, so that it forces the heap to grow.
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
