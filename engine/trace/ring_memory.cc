#include <new>

#include <sys/mman.h>

#include <rpcrdma/trace/ring_memory.h>

namespace rpcrdma::trace {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Whole pages, aligned to a page, so that none is shared with other data.
constexpr std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kPage : kHugePage};
}

}  // namespace

RingMemory::RingMemory(std::size_t bytes)
    : memory_(static_cast<std::uint8_t*>(::operator new(bytes, alignment(bytes))), Free{bytes}) {
  if (bytes >= kHugePage) (void)::madvise(data(), bytes, MADV_HUGEPAGE);
}

void RingMemory::populate() const {
#ifdef MADV_POPULATE_WRITE
  (void)::madvise(data(), memory_.get_deleter().bytes, MADV_POPULATE_WRITE);
#endif
}

void RingMemory::Free::operator()(std::uint8_t* memory) const {
  ::operator delete(memory, alignment(bytes));
}

}  // namespace rpcrdma::trace
