// Which Calls are executed once, what their duplicates get, and the bounds of the cache.
#include "calls_for_tests.h"
#include "support/counting_new.h"

#include <functional>
#include <optional>

#include <gmock/gmock.h>

#include <rpcrdma/service/duplicate_cache.h>

namespace rpcrdma::service {
namespace {

using testing::ByteVector;
using testing::call_bytes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::join;
using testing::KeptReply;
using testing::words;

constexpr std::uint32_t kLedger = 0x20000077;
constexpr ByteVector::value_type kFill = 0x5a;

enum LedgerProc : std::uint32_t {
  kAdd = 1,
  kLater = 2,
  kRead = 3,
  kPost = 4,
  kLong = 5,
  kBlock = 6
};

// The connection of a client.
struct Side {
  Side(Program& program, const fabric::Address& peer, protocol::MemoryPool& pool,
       const fabric::Time& clock, DuplicateCache* cache)
      : programs{&program}, dispatcher(programs, peer, pool, clock, cache) {
    dispatcher.attach([this](std::uint64_t id, std::span<const protocol::Piece> message,
                             fabric::Time) { return keep(id, message); },
                      [this] { ++answered_later; }, {}, {},
                      [this](std::uint64_t id, fabric::Time) { dropped.push_back(id); });
  }
  fabric::Expected<void> keep(std::uint64_t id, std::span<const protocol::Piece> message) {
    if (refuse) return fabric::fail(fabric::Errc::kNoRoom);
    replies.push_back(testing::kept(id, message));
    return {};
  }
  std::uint64_t call(std::uint32_t procedure, std::uint32_t xid, const ByteVector& arguments = {},
                     std::span<const protocol::Placed> items = {}) {
    stream = call_bytes(kLedger, 1, procedure, arguments);
    return send(xid, items);
  }
  std::uint64_t send(std::uint32_t xid, std::span<const protocol::Placed> items = {}) {
    protocol::IncomingCall incoming;
    incoming.id = ++last_id;
    incoming.xid = xid;
    incoming.stream = stream;
    incoming.items = items;
    dispatcher.on_call(incoming);
    return last_id;
  }

  std::array<Program*, 1> programs;
  Dispatcher dispatcher;
  ByteVector stream;
  std::vector<KeptReply> replies;
  std::vector<std::uint64_t> dropped;
  std::uint64_t last_id = 0;
  int answered_later = 0;
  bool refuse = false;
};

class DuplicateCacheTest : public ::testing::Test {
 protected:
  DuplicateCacheTest() { make({}); }
  ~DuplicateCacheTest() override {
    sides.clear();
    cache.reset();
    deferred.clear();
    EXPECT_EQ(pool.in_use(), 0U);
  }
  void make(const DuplicateCacheOptions& options) {
    sides.clear();
    cache.emplace(options, now);
    connect();
  }
  Side& connect(std::uint8_t host = 1) {
    sides.push_back(
        std::make_unique<Side>(program, fabric::make_ipv4(10, 0, 0, host), pool, now, &*cache));
    return *sides.back();
  }
  Side& side() { return *sides.back(); }
  [[nodiscard]] const DuplicateCacheCounters& counters() const { return cache->counters(); }

  static ByteVector accepted(std::uint32_t result) { return words(0, 1, 0, 0, 0, 0, result); }
  static ByteVector total_of(const KeptReply& reply) { return reply.stream; }

  void add(Call& c) {
    std::uint32_t amount = c.arguments().u32();
    if (!c.arguments().at_end()) {
      // A longer form: the sum of all bytes of an opaque.
      for (const std::uint8_t byte : c.arguments().opaque()) amount += byte;
      if (!c.arguments().at_end()) return (void)c.fail(CallError::kGarbageArgs);
    }
    answer(c, total += amount);
  }
  template <typename To>
  static void answer(To& to, std::uint32_t value) {
    const ByteVector bytes = words(value);
    const protocol::Piece piece{bytes, nullptr, false};
    (void)to.reply({&piece, 1});
  }
  std::vector<Procedure> table() {
    return {{kAdd, "ADD", [this](Call& c) { add(c); }, {1, 0, 4}},
            {kLater,
             "LATER",
             [this](Call& c) {
               ++total;
               deferred.push_back(c.defer());
             },
             {}},
            {kRead, "READ", [this](Call& c) { answer(c, ++reads); }, {}, true},
            {kPost,
             "POST",
             [this](Call& c) {
               ++total;
               if (fail_post) return (void)c.fail(CallError::kGarbageArgs);
               (void)c.reply({});
             },
             {},
             false,
             true},
            {kLong,
             "LONG",
             [this](Call& c) {
               const ByteVector count = words(++total, long_bytes);
               const ByteVector data(long_bytes, kFill);
               const std::array<protocol::Piece, 2> pieces{protocol::Piece{count, nullptr, false},
                                                           protocol::Piece{data, nullptr, true}};
               (void)c.reply(pieces);
             },
             {0, 1, 8}},
            {kBlock,
             "BLOCK",
             [this](Call& c) {
               ++total;
               block = c.acquire(100).value();
               deferred.push_back(c.defer());
             },
             {}}};
  }

  fabric::testing::NullProvider provider;
  protocol::MemoryPool pool{provider, {}};
  fabric::Time now = 1000;
  std::uint32_t total = 0, reads = 0;
  std::uint32_t long_bytes = 5001;
  bool fail_post = false;
  std::vector<Deferred> deferred;
  protocol::Block block;
  Program program{kLedger, 1, "ledger", table()};
  std::optional<DuplicateCache> cache;
  std::vector<std::unique_ptr<Side>> sides;
};

TEST_F(DuplicateCacheTest, ADuplicateGetsTheFirstReply) {
  side().call(kAdd, 7, words(5));
  side().call(kAdd, 7, words(5));
  connect().call(kAdd, 7, words(5));
  EXPECT_EQ(total, 5U);
  ASSERT_EQ(sides[0]->replies.size(), 2U);
  EXPECT_EQ(sides[0]->replies[1].stream, accepted(5));
  EXPECT_EQ(sides[1]->replies[0].stream, accepted(5));
  EXPECT_EQ(counters().calls, 1U);
  EXPECT_EQ(counters().replayed, 2U);
  EXPECT_EQ(sides[1]->dispatcher.counters().replayed, 1U);
  EXPECT_EQ(sides[1]->dispatcher.counters().success, 0U);
}

TEST_F(DuplicateCacheTest, AnotherCallIsExecuted) {
  side().call(kAdd, 7, words(5));
  side().call(kAdd, 8, words(5));      // XID
  side().call(kAdd, 7, words(6));      // arguments
  side().call(kAdd, 7, words(5, 0));   // their length
  connect(2).call(kAdd, 7, words(5));  // client
  EXPECT_EQ(total, 5U + 5 + 6 + 5 + 5);
  side().stream = call_bytes(kLedger, 1, kAdd, words(5));
  wire::store_be32(&side().stream[24], 9);  // a credential: unknown, and so refused
  side().send(7);
  EXPECT_EQ(side().dispatcher.counters().auth_error, 1U);
  EXPECT_EQ(counters().replayed, 0U);
}

TEST_F(DuplicateCacheTest, ADifferenceAnywhereInTheArgumentsCounts) {
  ByteVector data(5000, 1);
  const auto arguments = [&] { return join({words(0, data.size()), data}); };
  side().call(kAdd, 7, arguments());
  data.back() = 2;
  side().call(kAdd, 7, arguments());
  EXPECT_EQ(total, 5000U + 5001);
  side().call(kAdd, 7, arguments());
  EXPECT_EQ(total, 5000U + 5001);
}

TEST_F(DuplicateCacheTest, InlineOrInAReadChunkItIsTheSameCall) {
  const ByteVector data{1, 2, 3, 4, 5};
  const ByteVector padded = join({data, {0, 0, 0}});
  side().call(kAdd, 7, join({words(0, 5), padded}));
  for (const ByteVector& chunk : {data, padded}) {
    const protocol::Placed item{40 + 8, chunk, nullptr};
    side().call(kAdd, 7, words(0, 5), {&item, 1});
  }
  EXPECT_EQ(total, 15U);
  const ByteVector other{1, 2, 3, 4, 6};
  const protocol::Placed item{40 + 8, other, nullptr};
  side().call(kAdd, 7, words(0, 5), {&item, 1});
  EXPECT_EQ(total, 31U);
}

TEST_F(DuplicateCacheTest, IdempotentCallsAreExecutedAgain) {
  side().call(kRead, 7);
  side().call(kRead, 7);
  EXPECT_EQ(reads, 2U);
  EXPECT_EQ(counters().calls, 0U);
  EXPECT_EQ(counters().entries, 0U);
}

TEST_F(DuplicateCacheTest, IdempotentCallsCostNoMemory) {
  side().stream = call_bytes(kLedger, 1, 0);
  side().send(1);
  side().replies.reserve(100);
  side().replies.clear();
  side().refuse = true;  // so that the test itself allocates nothing
  EXPECT_EQ(wire::testing::allocations_in([&] {
              for (std::uint32_t i = 0; i < 50; ++i) side().send(i);
            }),
            0U);
  EXPECT_EQ(side().dispatcher.counters().reply_refused, 50U);
}

TEST_F(DuplicateCacheTest, ErrorsOfTheHandlerAreKeptToo) {
  side().call(kAdd, 7);
  side().call(kAdd, 7);
  EXPECT_EQ(side().replies[0].stream, words(0, 1, 0, 0, 0, 4));
  EXPECT_EQ(side().replies[1].stream, words(0, 1, 0, 0, 0, 4));
  EXPECT_EQ(side().dispatcher.counters().garbage_args, 1U);
}

TEST_F(DuplicateCacheTest, DdpEligibleResultsStayApart) {
  side().call(kLong, 7);
  connect().call(kLong, 7);
  EXPECT_EQ(total, 1U);
  const KeptReply& again = side().replies[0];
  EXPECT_EQ(again.stream, words(0, 1, 0, 0, 0, 0, 1, 5001));
  EXPECT_THAT(again.data, ElementsAre(ByteVector(5001, kFill)));
}

TEST_F(DuplicateCacheTest, AReplyThatDidNotFitIsKept) {
  side().refuse = true;
  side().call(kLong, 7);
  EXPECT_EQ(side().dispatcher.counters().reply_refused, 1U);
  side().refuse = false;
  side().call(kLong, 7);
  EXPECT_EQ(total, 1U);
  ASSERT_EQ(side().replies.size(), 1U);
  EXPECT_EQ(side().replies[0].data[0].size(), 5001U);
}

TEST_F(DuplicateCacheTest, ADuplicateWaitsWhileTheFirstIsExecuted) {
  side().call(kLater, 7);
  Side& second = connect();
  second.call(kLater, 7);
  EXPECT_THAT(second.replies, IsEmpty());
  EXPECT_EQ(counters().waited, 1U);
  answer(deferred[0], 42);
  ASSERT_EQ(deferred.size(), 1U);
  ASSERT_EQ(second.replies.size(), 1U);
  EXPECT_EQ(second.replies[0].stream, accepted(42));
  EXPECT_EQ(second.answered_later, 1);
  EXPECT_EQ(sides[0]->replies.size(), 1U);
  EXPECT_EQ(counters().replayed, 1U);
}

TEST_F(DuplicateCacheTest, OnlyTheLatestDuplicateWaits) {
  side().call(kLater, 7);
  Side& second = connect();
  const std::uint64_t id = second.call(kLater, 7);
  Side& third = connect();
  third.call(kLater, 7);
  EXPECT_THAT(second.dropped, ElementsAre(id));
  EXPECT_EQ(second.answered_later, 1);
  answer(deferred[0], 42);
  EXPECT_THAT(second.replies, IsEmpty());
  EXPECT_EQ(third.replies.size(), 1U);
  EXPECT_EQ(counters().dropped, 1U);
}

TEST_F(DuplicateCacheTest, TheConnectionEndsBeforeTheReply) {
  const std::uint64_t id = side().call(kLater, 7);
  sides[0]->dispatcher.on_cancelled(id);
  EXPECT_FALSE(deferred[0].waiting());
  sides.clear();
  Side& second = connect();
  second.call(kLater, 7);
  answer(deferred[0], 42);
  EXPECT_EQ(second.replies.at(0).stream, accepted(42));
  connect().call(kLater, 7);
  EXPECT_EQ(side().replies.at(0).stream, accepted(42));
  EXPECT_EQ(total, 1U);
}

TEST_F(DuplicateCacheTest, BlocksStayWithTheHandler) {
  const std::uint64_t id = side().call(kBlock, 7);
  sides[0]->dispatcher.on_cancelled(id);
  sides.clear();
  EXPECT_NE(pool.in_use(), 0U);
  std::fill_n(block.data, 100, kFill);
  const protocol::Piece piece{{block.data, 100}, block.memory, false};
  (void)deferred[0].reply({&piece, 1});
  EXPECT_EQ(pool.in_use(), 0U);
  connect().call(kBlock, 7);
  EXPECT_EQ(side().replies.at(0).stream, join({words(0, 1, 0, 0, 0, 0), ByteVector(100, kFill)}));
}

TEST_F(DuplicateCacheTest, TheCacheEndsBeforeTheReply) {
  const std::uint64_t id = side().call(kBlock, 7);
  sides[0]->dispatcher.on_cancelled(id);
  sides.clear();
  cache.reset();
  EXPECT_EQ(pool.in_use(), 0U);
  answer(deferred[0], 42);
}

TEST_F(DuplicateCacheTest, ATokenThatIsDroppedAnswersDuplicates) {
  side().call(kLater, 7);
  sides.clear();
  connect().call(kLater, 7);
  deferred.clear();
  EXPECT_EQ(side().replies.at(0).stream, words(0, 1, 0, 0, 0, 5));
  EXPECT_EQ(total, 1U);
}

TEST_F(DuplicateCacheTest, TheLeastRecentlyUsedMakesRoom) {
  make({.entries = 2});
  side().call(kAdd, 1, words(1));
  side().call(kAdd, 2, words(1));
  side().call(kAdd, 1, words(1));  // used
  side().call(kAdd, 3, words(1));  // evicts 2
  EXPECT_EQ(counters().evicted, 1U);
  EXPECT_EQ(counters().entries, 2U);
  side().call(kAdd, 1, words(1));
  EXPECT_EQ(total, 3U);
  side().call(kAdd, 2, words(1));
  EXPECT_EQ(total, 4U);
}

TEST_F(DuplicateCacheTest, WhatIsBeingExecutedStays) {
  make({.entries = 2});
  side().call(kLater, 1);
  side().call(kLater, 2);
  side().call(kAdd, 3, words(1));
  side().call(kAdd, 3, words(1));  // nothing protects it
  EXPECT_EQ(total, 2U + 2);
  EXPECT_EQ(counters().unprotected, 2U);
  EXPECT_EQ(counters().evicted, 0U);
  side().call(kLater, 1);
  EXPECT_EQ(counters().waited, 1U);
}

TEST_F(DuplicateCacheTest, BytesAreBounded) {
  constexpr std::uint64_t kBytes = 64 << 10;
  make({.entries = 1000, .bytes = kBytes});
  for (std::uint32_t xid = 0; xid < 200; ++xid) {
    side().call(kLong, xid);
    ASSERT_LE(counters().bytes, kBytes);
  }
  EXPECT_GT(counters().evicted, 150U);
  EXPECT_GT(counters().entries, 5U);
}

TEST_F(DuplicateCacheTest, ATooLongReplyIsNotKept) {
  make({.entries = 1000, .bytes = 16 << 10});
  side().call(kLong, 7);
  EXPECT_EQ(counters().not_kept, 1U);
  EXPECT_EQ(side().replies.at(0).data.size(), 1U);
  connect().call(kLong, 7);
  EXPECT_EQ(total, 1U);
  EXPECT_EQ(side().replies.at(0).stream, words(0, 1, 0, 0, 0, 5));
}

TEST_F(DuplicateCacheTest, EntriesExpire) {
  make({.lifetime = 100});
  side().call(kAdd, 7, words(1));
  now += 99;
  side().call(kAdd, 7, words(1));
  EXPECT_EQ(total, 1U);
  now += 99;  // since its Reply was sent again
  side().call(kAdd, 7, words(1));
  EXPECT_EQ(total, 1U);
  now += 100;
  side().call(kAdd, 7, words(1));
  EXPECT_EQ(total, 2U);
  EXPECT_EQ(counters().expired, 1U);
}

TEST_F(DuplicateCacheTest, OneWayCallsHaveNoReply) {
  const std::uint64_t id = side().call(kPost, 7);
  EXPECT_THAT(side().dropped, ElementsAre(id));
  EXPECT_THAT(side().replies, IsEmpty());
  EXPECT_EQ(side().dispatcher.counters().one_way, 1U);
  const std::uint64_t again = connect().call(kPost, 7);
  EXPECT_THAT(side().dropped, ElementsAre(again));
  EXPECT_EQ(total, 1U);
  EXPECT_EQ(counters().dropped, 1U);
  fail_post = true;
  side().call(kPost, 8);
  EXPECT_THAT(side().replies, IsEmpty());
}

TEST_F(DuplicateCacheTest, OneWayCallsWithoutACache) {
  Side plain(program, fabric::make_ipv4(10, 0, 0, 1), pool, now, nullptr);
  plain.call(kPost, 7);
  plain.call(kPost, 7);
  EXPECT_EQ(total, 2U);
  EXPECT_EQ(plain.dropped.size(), 2U);
  const ByteVector chunk(4);
  const protocol::Placed item{40, chunk, nullptr};
  plain.call(kPost, 8, {}, {&item, 1});  // its binding has no Read chunk
  EXPECT_THAT(plain.replies, IsEmpty());
  EXPECT_EQ(total, 2U);
}

}  // namespace
}  // namespace rpcrdma::service
