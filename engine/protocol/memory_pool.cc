#include <algorithm>
#include <bit>
#include <new>

#include <sys/mman.h>

#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {
namespace {

// A huge page. With many connections each message uses another connection's Receive, and its
// address translation would cost more than the message; for a device it is one entry instead of
// 512.
constexpr std::size_t kHugePage = 2U << 20;
constexpr std::size_t kPage = 4096;

constexpr std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kPage : kHugePage};
}

std::uint8_t* new_slab(std::size_t bytes) {
  auto* const slab =
      static_cast<std::uint8_t*>(::operator new(bytes, alignment(bytes), std::nothrow));
  // Only advice: without huge pages everything works the same, but slower.
  if (slab != nullptr && bytes >= kHugePage) (void)::madvise(slab, bytes, MADV_HUGEPAGE);
  return slab;
}

}  // namespace

void MemoryPool::FreeSlab::operator()(std::uint8_t* slab) const {
  ::operator delete(slab, alignment(bytes));
}

MemoryPool::MemoryPool(fabric::Provider& provider, const Options& options)
    : provider_(provider), options_(options) {}

MemoryPool::~MemoryPool() {
  for (const auto& slab : slabs_) provider_.deregister_memory(*slab);
}

MemoryPool::Slab& MemoryPool::slab_of(const Block& block) {
  // The pool created it as a Slab that may be modified; callers only see it as const.
  return const_cast<Slab&>(static_cast<const Slab&>(*block.memory));
}

fabric::Expected<Block> MemoryPool::acquire(std::uint32_t bytes) {
  if (bytes > 1U << (kLeastShift + kClasses - 1)) {
    return fabric::fail(fabric::Errc::kNoRoom, "a block is at most 1 GiB");
  }
  const auto shift = static_cast<unsigned>(std::bit_width(std::max(bytes, 1U) - 1));
  const unsigned size_class = std::max(shift, kLeastShift) - kLeastShift;
  std::vector<Block>& free = free_[size_class];
  if (free.empty()) {
    auto added = fabric::or_out_of_memory([&] { return add_slab(size_class); });
    if (!added) {
      // Otherwise peers could use up the limit by blocks of one size, and keep a few of each slab.
      const auto larger = std::find_if(free_.begin() + size_class + 1, free_.end(),
                                       [](const auto& blocks) { return !blocks.empty(); });
      if (larger == free_.end()) return tl::unexpected(std::move(added.error()));
      return take_from(*larger);
    }
  }
  return take_from(free);
}

Block MemoryPool::take_from(std::vector<Block>& free) {
  const Block block = free.back();
  free.pop_back();
  ++slab_of(block).taken;
  in_use_ += block.size;
  return block;
}

void MemoryPool::release(const Block& block) {
  --slab_of(block).taken;
  in_use_ -= block.size;
  // There is room for every block of the class: add_slab() reserved it.
  free_[static_cast<unsigned>(std::countr_zero(block.size)) - kLeastShift].push_back(block);
}

fabric::Expected<void> MemoryPool::add_slab(unsigned size_class) {
  const std::uint32_t block = 1U << (kLeastShift + size_class);
  if (options_.limit - registered_ < block) forget_idle(block);
  // The rest below the limit may be less than a slab, and still enough for some blocks.
  const std::uint64_t most =
      std::min<std::uint64_t>(std::max(options_.slab_bytes, block), options_.limit - registered_);
  const std::size_t count = most / block;
  if (count == 0) return fabric::fail(fabric::Errc::kNoRoom, "the memory limit is reached");
  const std::size_t bytes = count * block;

  auto slab = std::make_unique<Slab>();
  slab->bytes = {new_slab(bytes), FreeSlab{bytes}};
  if (!slab->bytes) return fabric::fail(fabric::Errc::kSystem, fabric::kOutOfMemory);
  // Before the provider knows the memory, so that nothing can fail after that.
  free_[size_class].reserve(blocks_[size_class] + count);
  slabs_.reserve(std::bit_ceil(slabs_.size() + 1));
  auto memory = provider_.register_memory({slab->bytes.get(), bytes});
  if (!memory) return tl::unexpected(std::move(memory.error()));
  static_cast<fabric::Memory&>(*slab) = *memory;
  slab->size_class = size_class;
  registered_ += bytes;
  blocks_[size_class] += count;
  // From the back, so that the lowest address is acquired first.
  for (std::size_t i = count; i-- > 0;) {
    free_[size_class].push_back({slab->bytes.get() + i * block, block, slab.get()});
  }
  slabs_.push_back(std::move(slab));
  return {};
}

// Returns slabs without blocks in use to the system, those of the largest blocks first, until
// `bytes` fit below the limit. Otherwise a past peak, above all one caused by a hostile peer, would
// block memory for other sizes for ever.
void MemoryPool::forget_idle(std::uint64_t bytes) {
  for (unsigned size_class = kClasses; size_class-- > 0;) {
    for (std::size_t i = slabs_.size(); i-- > 0;) {
      if (options_.limit - registered_ >= bytes) return;
      const Slab& slab = *slabs_[i];
      if (slab.size_class != size_class || slab.taken != 0) continue;
      deregister_memory(slab);
      slabs_.erase(slabs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void MemoryPool::deregister_memory(const Slab& slab) {
  blocks_[slab.size_class] -= std::erase_if(
      free_[slab.size_class], [&](const Block& block) { return block.memory == &slab; });
  registered_ -= slab.length;
  provider_.deregister_memory(slab);
}

}  // namespace rpcrdma::protocol
