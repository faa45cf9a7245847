// Blocks: where they lie, what is registered for them, and that the steady state allocates nothing.
#include "support/counting_new.h"
#include "support/null_provider.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Errc;
using wire::testing::allocations_in;

// Registers memory and does nothing else.
class RegisteringProvider final : public fabric::testing::NullProvider {
 public:
  fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    if (refuses) return fabric::fail(Errc::kSystem, "refused");
    registrations.emplace(next_key, memory);
    return fabric::Memory{memory.data(), memory.size(), next_key++};
  }
  void deregister_memory(const fabric::Memory& memory) override {
    EXPECT_EQ(registrations.erase(memory.local_key), 1U);
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [key, memory] : registrations) sum += memory.size();
    return sum;
  }

  bool refuses = false;
  std::uint32_t next_key = 1;
  std::map<std::uint32_t, std::span<std::uint8_t>> registrations;
};

// Returns whether the block lies in memory that is registered under its key.
bool lies_in_registered_memory(const RegisteringProvider& provider, const Block& block) {
  const auto found = provider.registrations.find(block.memory->local_key);
  if (found == provider.registrations.end()) return false;
  const std::uint8_t* const begin = found->second.data();
  return block.data >= begin && block.data + block.size <= begin + found->second.size();
}

TEST(MemoryPoolTest, ABlockIsTheNextPowerOfTwoFrom256On) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {});
  for (const auto& [asked, size] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {0, 256}, {1, 256}, {256, 256}, {257, 512}, {4096, 4096}, {4097, 8192}}) {
    const auto block = pool.acquire(asked);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->size, size) << asked;
    EXPECT_TRUE(lies_in_registered_memory(provider, *block));
  }
}

TEST(MemoryPoolTest, ASliceIsAPartOfTheBlock) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {});
  const Block block = pool.acquire(1024).value();
  const fabric::Slice slice = block.slice(100, 24);
  EXPECT_EQ(slice.data, block.data + 24);
  EXPECT_EQ(slice.length, 100U);
  EXPECT_EQ(slice.local_key, block.memory->local_key);
}

TEST(MemoryPoolTest, ASlabServesManyBlocks) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 1 << 20});
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(pool.acquire(4096));
  EXPECT_EQ(provider.registrations.size(), 1U);
  EXPECT_EQ(pool.registered(), 64U << 10);
  ASSERT_TRUE(pool.acquire(4096));
  EXPECT_EQ(provider.registrations.size(), 2U);
}

TEST(MemoryPoolTest, ALargeBlockHasASlabOfItsOwnThatIsUsedAgain) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 1 << 20});
  const Block first = pool.acquire(100'000).value();
  EXPECT_EQ(first.size, 128U << 10);
  EXPECT_EQ(pool.registered(), 128U << 10);
  pool.release(first);
  EXPECT_EQ(pool.acquire(128 << 10).value().data, first.data);
  EXPECT_EQ(provider.registrations.size(), 1U);
}

TEST(MemoryPoolTest, NothingIsRegisteredBeyondTheLimit) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 100'000});
  std::size_t blocks = 0;
  auto block = pool.acquire(4096);
  for (; block; block = pool.acquire(4096)) ++blocks;
  EXPECT_EQ(block.error().code, Errc::kNoRoom);
  EXPECT_EQ(blocks, 100'000U / 4096);  // the last slab is as long as the limit allows
  EXPECT_EQ(provider.bytes(), blocks * 4096);
  EXPECT_EQ(pool.registered(), provider.bytes());
}

TEST(MemoryPoolTest, ABlockThatTheLimitAllowsAloneIsTaken) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 1 << 20, .limit = 8192});
  EXPECT_TRUE(pool.acquire(8192));
  EXPECT_EQ(pool.acquire(256).error().code, Errc::kNoRoom);
}

TEST(MemoryPoolTest, OneThatIsLongerThanAnyBlockIsRefused) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 1 << 20, .limit = 1ULL << 40});
  EXPECT_EQ(pool.acquire((1U << 30) + 1).error().code, Errc::kNoRoom);
  EXPECT_EQ(pool.acquire(UINT32_MAX).error().code, Errc::kNoRoom);
  EXPECT_EQ(pool.registered(), 0U);
}

TEST(MemoryPoolTest, IdleLargeBlocksMakeRoomAtTheLimit) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 1 << 20});
  const Block kept = pool.acquire(256 << 10).value();
  const Block idle = pool.acquire(256 << 10).value();
  pool.release(pool.acquire(512 << 10).value());
  pool.release(idle);
  EXPECT_EQ(pool.registered(), 1U << 20);
  // The largest goes first, and no more than is needed.
  const Block small = pool.acquire(4096).value();
  EXPECT_EQ(pool.registered(), (512U << 10) + (64U << 10));
  EXPECT_TRUE(lies_in_registered_memory(provider, kept));
  EXPECT_TRUE(lies_in_registered_memory(provider, idle));
  EXPECT_TRUE(lies_in_registered_memory(provider, small));
  const Block large = pool.acquire(512 << 10).value();
  EXPECT_EQ(pool.registered(), (256U << 10) + (64U << 10) + (512U << 10));
  // Blocks in use are not affected.
  EXPECT_EQ(pool.acquire(512 << 10).error().code, Errc::kNoRoom);
  EXPECT_TRUE(lies_in_registered_memory(provider, kept));
  EXPECT_TRUE(lies_in_registered_memory(provider, small));
  EXPECT_TRUE(lies_in_registered_memory(provider, large));
}

TEST(MemoryPoolTest, ABlockAsLongAsASlabMakesRoomToo) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 64 << 10});
  pool.release(pool.acquire(64 << 10).value());
  EXPECT_TRUE(pool.acquire(256));
}

// Block sizes used earlier never block memory for other sizes.
TEST(MemoryPoolTest, IdleSmallBlocksMakeRoomAtTheLimit) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 1 << 20});
  std::vector<Block> blocks;
  for (const std::uint32_t size : {256U, 32U << 10, 4096U, 512U << 10, 16U << 10}) {
    while (const auto block = pool.acquire(size)) blocks.push_back(*block);
    EXPECT_GT(pool.in_use(), (1U << 20) - size);
    const Block kept = blocks[blocks.size() / 2];
    for (const Block& block : blocks) {
      if (block.data != kept.data) pool.release(block);
    }
    blocks = {kept};
    EXPECT_TRUE(lies_in_registered_memory(provider, kept));
    EXPECT_LE(provider.bytes(), 1U << 20);
    pool.release(kept);
    blocks.clear();
  }
}

// A slab with a block in use stays, with its other blocks.
TEST(MemoryPoolTest, ASlabInUseStaysWhole) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 128 << 10});
  const Block kept = pool.acquire(4096).value();
  pool.release(pool.acquire(64 << 10).value());
  const Block large = pool.acquire(32 << 10).value();
  EXPECT_EQ(pool.registered(), 128U << 10);
  for (int i = 0; i < 15; ++i) {
    const Block other = pool.acquire(4096).value();
    EXPECT_EQ(other.memory, kept.memory);
  }
  // The other half of a slab for longer ones is all that is left.
  EXPECT_EQ(pool.acquire(4096).value().memory, large.memory);
  EXPECT_EQ(pool.acquire(4096).error().code, Errc::kNoRoom);
  EXPECT_TRUE(lies_in_registered_memory(provider, kept));
  EXPECT_TRUE(lies_in_registered_memory(provider, large));
}

// Whoever keeps a block of each slab does not take the rest of them from others.
TEST(MemoryPoolTest, FreeBlocksOfALargerSizeServeAtTheLimit) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 16 << 10, .limit = 32 << 10});
  const Block kept = pool.acquire(8192).value();
  const Block other = pool.acquire(16 << 10).value();
  const Block small = pool.acquire(256).value();
  EXPECT_EQ(small.size, 8192U);
  EXPECT_EQ(small.memory, kept.memory);
  EXPECT_EQ(pool.in_use(), 32U << 10);
  EXPECT_EQ(pool.acquire(256).error().code, Errc::kNoRoom);
  pool.release(small);
  EXPECT_EQ(pool.acquire(8192).value().data, small.data);
  pool.release(other);
  EXPECT_EQ(pool.acquire(256).value().size, 256U);
}

TEST(MemoryPoolTest, MakingRoomAgainAndAgainLeavesNothingBehind) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 600'000});
  const auto round = [&] {
    pool.release(pool.acquire(512 << 10).value());
    pool.release(pool.acquire(256 << 10).value());
  };
  round();
  // A slab, its bytes (which are not counted under AddressSanitizer) and the provider's entry,
  // twice: no list grows.
  EXPECT_LE(allocations_in(round), 6U);
  EXPECT_EQ(provider.registrations.size(), 1U);
}

TEST(MemoryPoolTest, TheProvidersRefusalIsHandedOn) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {});
  provider.refuses = true;
  EXPECT_EQ(pool.acquire(1).error().code, Errc::kSystem);
  EXPECT_EQ(pool.registered(), 0U);
  provider.refuses = false;
  EXPECT_TRUE(pool.acquire(1));
}

TEST(MemoryPoolTest, WhatIsInUseIsCounted) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {});
  const Block a = pool.acquire(1000).value();
  const Block b = pool.acquire(3000).value();
  EXPECT_EQ(pool.in_use(), 1024U + 4096U);
  pool.release(a);
  EXPECT_EQ(pool.in_use(), 4096U);
  pool.release(b);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(MemoryPoolTest, EverythingIsForgottenAtTheEnd) {
  RegisteringProvider provider;
  {
    MemoryPool pool(provider, {.slab_bytes = 4096, .limit = 1 << 20});
    const Block small = pool.acquire(256).value();
    const Block large = pool.acquire(100'000).value();
    pool.release(small);
    pool.release(large);
    EXPECT_EQ(provider.registrations.size(), 2U);
  }
  EXPECT_TRUE(provider.registrations.empty());
}

TEST(MemoryPoolTest, TheSteadyStateAllocatesAndRegistersNothing) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 64 << 10, .limit = 1 << 22});
  const std::array<std::uint32_t, 8> sizes = {256, 256, 1000, 4096, 4096, 70'000, 70'000, 65'536};
  std::array<Block, 8> blocks;
  const auto round = [&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) blocks[i] = pool.acquire(sizes[i]).value();
    // Released in another order than acquired.
    for (std::size_t i = 0; i < sizes.size(); ++i) pool.release(blocks[(i * 3) % sizes.size()]);
  };
  round();
  const std::size_t registrations = provider.registrations.size();
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 100; ++i) round();
            }),
            0U);
  EXPECT_EQ(provider.registrations.size(), registrations);
}

TEST(MemoryPoolTest, GivingBackNeverAllocates) {
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 4096, .limit = 1 << 22});
  std::vector<Block> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.acquire(256).value());
  for (int i = 0; i < 10; ++i) blocks.push_back(pool.acquire(8192).value());
  EXPECT_EQ(allocations_in([&] {
              for (const Block& block : blocks) pool.release(block);
            }),
            0U);
}

// Random acquires and releases: no two blocks overlap, each is registered, the counts are right and
// the limit holds.
TEST(MemoryPoolTest, RandomUse) {
  std::mt19937 random(1);
  RegisteringProvider provider;
  MemoryPool pool(provider, {.slab_bytes = 16 << 10, .limit = 300'000});
  std::vector<Block> taken;
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.empty() || random() % 2 == 0) {
      const auto block = pool.acquire(1U << random() % 17);
      if (!block) {
        ASSERT_EQ(block.error().code, Errc::kNoRoom);
        ++refused;
        continue;
      }
      ASSERT_TRUE(lies_in_registered_memory(provider, *block));
      for (const Block& other : taken) {
        ASSERT_TRUE(block->data + block->size <= other.data ||
                    other.data + other.size <= block->data);
      }
      taken.push_back(*block);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      ASSERT_TRUE(lies_in_registered_memory(provider, taken.back()));
      pool.release(taken.back());
      taken.pop_back();
    }
    std::uint64_t in_use = 0;
    for (const Block& block : taken) in_use += block.size;
    ASSERT_EQ(pool.in_use(), in_use);
    ASSERT_EQ(pool.registered(), provider.bytes());
    ASSERT_LE(pool.registered(), 300'000U);
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace rpcrdma::protocol
