// Pool of registered memory for Receives, Sends and chunks, in blocks. Registration costs far more
// than a Call, so a whole slab is registered at a time and blocks are reused.
//
// Belongs to the thread of its provider, and must live as long as work that uses its blocks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::protocol {

// A piece of registered memory, to be released exactly once.
struct Block {
  std::uint8_t* data = nullptr;
  std::uint32_t size = 0;                  // bytes; at least as many as requested
  const fabric::Memory* memory = nullptr;  // the slab that holds it; owned by the pool

  explicit operator bool() const { return data != nullptr; }
  [[nodiscard]] fabric::Slice slice(std::uint32_t length, std::uint32_t offset = 0) const {
    return {data + offset, length, memory->local_key};
  }
};

class MemoryPool {
 public:
  struct Options {
    std::uint32_t slab_bytes = 2U << 20;  // registered at a time; a larger block has its own slab.
                                          // All are kept until the limit is reached
    std::uint64_t limit = 1ULL << 30;     // maximum of registered bytes
  };
  MemoryPool(fabric::Provider& provider, const Options& options);
  ~MemoryPool();  // all blocks must have been released
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Sizes are powers of two, 256 bytes or more. At the limit, a larger block serves if one is free.
  // In steady state nothing is allocated or registered.
  // Errors: kNoRoom beyond the limit or for more than 1 GiB; kSystem.
  [[nodiscard]] fabric::Expected<Block> acquire(std::uint32_t bytes);
  void release(const Block& block);
  // The size of the block for so many bytes.
  [[nodiscard]] static std::uint64_t block_bytes(std::uint64_t bytes) {
    return std::max(std::bit_ceil(bytes), std::uint64_t{1} << kLeastShift);
  }

  [[nodiscard]] std::uint64_t limit() const { return options_.limit; }    // bytes
  [[nodiscard]] std::uint64_t registered() const { return registered_; }  // bytes
  [[nodiscard]] std::uint64_t in_use() const { return in_use_; }  // bytes of acquired blocks

 private:
  static constexpr unsigned kLeastShift = 8;
  static constexpr unsigned kClasses = 23;  // up to 1 GiB
  struct FreeSlab {
    FreeSlab() : bytes(0) {}
    explicit FreeSlab(std::size_t length) : bytes(length) {}
    void operator()(std::uint8_t* slab) const;
    std::size_t bytes;
  };
  // The memory that its blocks refer to.
  struct Slab : fabric::Memory {
    std::unique_ptr<std::uint8_t, FreeSlab> bytes;
    unsigned size_class = 0;
    std::size_t taken = 0;  // blocks in use
  };

  [[nodiscard]] fabric::Expected<void> add_slab(unsigned size_class);
  [[nodiscard]] Block take_from(std::vector<Block>& free);
  void forget_idle(std::uint64_t bytes);
  void deregister_memory(const Slab& slab);
  [[nodiscard]] static Slab& slab_of(const Block& block);

  fabric::Provider& provider_;
  Options options_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::array<std::vector<Block>, kClasses> free_;
  std::array<std::size_t, kClasses> blocks_{};  // per class, in use or free
  std::uint64_t registered_ = 0;
  std::uint64_t in_use_ = 0;
};

}  // namespace rpcrdma::protocol
