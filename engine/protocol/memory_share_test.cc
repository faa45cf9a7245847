// Shares of a pool: what an address, a connection and all of them together may hold.
#include "support/null_provider.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/memory_share.h>

namespace rpcrdma::protocol {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

class AnyMemory final : public fabric::testing::NullProvider {
 public:
  fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    return fabric::Memory{memory.data(), memory.size(), 1};
  }
  void deregister_memory(const fabric::Memory&) override {}
};

fabric::Address host(std::uint8_t last) {
  return fabric::make_ipv4(10, 0, 0, last);
}

// A connection that takes blocks of 1 MiB, each for a Call of its own.
class Taker {
 public:
  Taker(MemoryPool& pool, MemoryShares& shares, std::uint8_t last)
      : pool_(pool), share_(shares, host(last)) {}
  ~Taker() {
    while (!calls_.empty()) give_one();
  }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  using Take = bool (MemoryShare::*)(std::uint64_t bytes, MemoryHeld& held);
  [[nodiscard]] bool take_one(std::uint64_t bytes = kMiB, Take take = &MemoryShare::take) {
    MemoryHeld held;
    if (!(share_.*take)(bytes, held)) return false;
    calls_.push_back({pool_.acquire(static_cast<std::uint32_t>(bytes)).value(), held});
    return true;
  }
  // Returns how many it got.
  std::size_t take_all() {
    std::size_t n = 0;
    while (take_one()) ++n;
    return n;
  }
  void give_one() {
    pool_.release(calls_.back().block);
    share_.give(calls_.back().held);
    calls_.pop_back();
  }
  [[nodiscard]] const MemoryHeld& last() const { return calls_.back().held; }
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  MemoryShare& share() { return share_; }

 private:
  struct Call {
    Block block;
    MemoryHeld held;
  };
  MemoryPool& pool_;
  MemoryShare share_;
  std::vector<Call> calls_;
};

// A pool of 64 MiB: 48 for Calls by shares, 4 set aside, for 64 connections.
class MemoryShareTest : public ::testing::Test {
 protected:
  AnyMemory provider;
  MemoryPool pool{provider, {.slab_bytes = 1U << 20, .limit = 64 * kMiB}};
  MemoryShares shares{pool, {.single = 4 * kMiB, .connections = 64}};
};

TEST_F(MemoryShareTest, AConnectionHoldsAQuarterOfWhatIsFree) {
  Taker one(pool, shares, 1);
  EXPECT_EQ(one.take_all(), 12U);
}

TEST_F(MemoryShareTest, AnAddressHoldsAsMuchAsItLeavesFree) {
  Taker a(pool, shares, 1), b(pool, shares, 1), c(pool, shares, 1);
  EXPECT_EQ(a.take_all() + b.take_all() + c.take_all(), 24U);
  // The next one a half of the rest, and so on.
  Taker d(pool, shares, 2), e(pool, shares, 2), f(pool, shares, 2);
  EXPECT_EQ(d.take_all() + e.take_all() + f.take_all(), 12U);
  // What the first gives back is for the second, too.
  while (a.calls() != 0) a.give_one();
  EXPECT_GT(d.take_all() + e.take_all() + f.take_all(), 0U);
}

// Otherwise Read chunks that take their whole share would leave none for their own Replies.
TEST_F(MemoryShareTest, ResultsMayTakeMoreThanReadChunks) {
  Taker a(pool, shares, 1), b(pool, shares, 1), c(pool, shares, 1);
  ASSERT_EQ(a.take_all() + b.take_all() + c.take_all(), 24U);
  std::size_t more = 0;
  for (Taker* const t : {&a, &b, &c}) {
    while (t->take_one(kMiB, &MemoryShare::take_at_once)) ++more;
  }
  EXPECT_EQ(more, 12U);
  Taker other(pool, shares, 2);
  EXPECT_EQ(other.take_all(), 3U);
}

TEST_F(MemoryShareTest, ASingleCallMayTakeItsMost) {
  Taker first(pool, shares, 1);
  EXPECT_TRUE(first.take_one(4 * kMiB));
  EXPECT_EQ(first.last().shared, 4 * kMiB);
  // Even if its address holds much already.
  first.give_one();
  ASSERT_TRUE(first.share().take_receives(20 * kMiB));
  EXPECT_TRUE(first.take_one(4 * kMiB));
  EXPECT_FALSE(first.take_one(8 * kMiB));
}

TEST_F(MemoryShareTest, EachConnectionHasItsPartWhateverOthersHold) {
  EXPECT_EQ(shares.reserved_each(), 64U << 10);
  std::vector<std::unique_ptr<Taker>> hosts;
  for (std::uint8_t last = 1; last < 33; ++last) {
    hosts.push_back(std::make_unique<Taker>(pool, shares, last));
    hosts.back()->take_all();
  }
  ASSERT_GT(pool.in_use(), 44 * kMiB);
  const std::uint64_t before = pool.in_use();
  // They take their own parts, too.
  for (const auto& h : hosts) {
    while (h->take_one(4096)) {
    }
  }
  EXPECT_LE(pool.in_use(), 48 * kMiB + 32 * shares.reserved_each());
  EXPECT_GT(pool.in_use(), before);
  Taker late(pool, shares, 99);
  ASSERT_TRUE(late.take_one(32U << 10));
  EXPECT_EQ(late.last().reserved, 32U << 10);
  ASSERT_TRUE(late.take_one(32U << 10));
  EXPECT_FALSE(late.take_one(256));
  late.give_one();
  EXPECT_TRUE(late.take_one(256));
}

TEST_F(MemoryShareTest, ReceivesCountAndLeaveAnEighth) {
  Taker a(pool, shares, 1), b(pool, shares, 2);
  EXPECT_FALSE(a.share().take_receives(42 * kMiB + 1));
  EXPECT_TRUE(a.share().take_receives(42 * kMiB));
  const Block taken = pool.acquire(32 * kMiB).value(), more = pool.acquire(8 * kMiB).value();
  EXPECT_TRUE(a.share().take_receives(kMiB));
  EXPECT_FALSE(a.share().take_receives(2 * kMiB));
  // Another address gets three quarters of the rest.
  EXPECT_FALSE(b.share().take_receives(12 * kMiB + 1));
  EXPECT_TRUE(b.share().take_receives(12 * kMiB));
  pool.release(taken);
  pool.release(more);
}

TEST_F(MemoryShareTest, AnAddressWithoutConnectionsHoldsNothing) {
  {
    Taker a(pool, shares, 1);
    ASSERT_TRUE(a.share().take_receives(20 * kMiB));
    EXPECT_EQ(a.take_all(), 4U);  // those of a single Call
  }
  Taker again(pool, shares, 1);
  EXPECT_EQ(again.take_all(), 12U);
}

TEST_F(MemoryShareTest, PartsOfACallAreUndoneAlone) {
  Taker a(pool, shares, 1);
  MemoryHeld held;
  ASSERT_TRUE(a.share().take(kMiB, held));
  const MemoryHeld before = held;
  ASSERT_TRUE(a.share().take(2 * kMiB, held));
  EXPECT_EQ(held.shared, 3 * kMiB);
  a.share().give_back_to(before, held);
  EXPECT_EQ(held.shared, kMiB);
  a.share().give(held);
  EXPECT_EQ(held.shared, 0U);
  EXPECT_EQ(a.take_all(), 12U);
}

}  // namespace
}  // namespace rpcrdma::protocol
