// Every way in which a Call can end, with golden bytes by RFC 5531 sections 8 and 9.
#include "calls_for_tests.h"
#include "support/counting_new.h"

#include <optional>

namespace rpcrdma::service {
namespace {

using testing::ByteVector;
using testing::call_bytes;
using testing::Dispatching;
using testing::join;
using testing::words;

constexpr std::uint32_t kNumber = 0x20000001;
constexpr std::uint32_t kNoVerifier = 0;

// accept_stat or reject_stat and the rest, after an XID of 0 that is filled in later.
template <typename... Word>
ByteVector accepted(Word... rest) {
  return words(0, 1, 0, kNoVerifier, 0, rest...);
}
template <typename... Word>
ByteVector denied(Word... rest) {
  return words(0, 1, 1, rest...);
}

class DispatcherTest : public ::testing::Test {
 protected:
  static std::vector<Procedure> table(DispatcherTest* test) {
    return {
        {1,
         "PLUS_ONE",
         [](Call& c) {
           const std::uint32_t v = c.arguments().u32();
           if (!c.arguments().at_end()) return (void)c.fail(CallError::kGarbageArgs);
           const ByteVector sum = words(v + 1);
           const protocol::Piece piece{sum, nullptr, false};
           (void)c.reply({&piece, 1});
         },
         {}},
        {2, "NOTHING", [](Call&) {}, {}},
        {3, "LATER", [test](Call& c) { test->deferred = c.defer(); }, {}},
        {4,
         "BLOCK",
         [test](Call& c) {
           const auto block = c.acquire(1000);
           ASSERT_TRUE(block);
           test->defer_block ? (void)(test->deferred = c.defer()) : (void)c.reply({});
         },
         {}},
        {5,
         "BULK",
         [test](Call& c) {
           const auto data = c.arguments().opaque();
           test->bulk.assign(data.begin(), data.end());
           (void)c.reply({});
         },
         {1, 0, 0}},
        {7, "WHO", [test](Call& c) { test->who = c.credential(), (void)c.reply({}); }, {}},
        {9,
         "TOO_MANY",
         [test](Call& c) {
           const std::array<protocol::Piece, kMaxResultPieces + 1> pieces;
           test->result = c.reply(pieces);
         },
         {}},
        {10,
         "TWICE",
         [test](Call& c) {
           (void)c.reply({});
           test->result = c.fail(CallError::kSystemError);
         },
         {}},
        {11, "UNAVAILABLE", [](Call& c) { (void)c.fail(CallError::kProcUnavail); }, {}},
    };
  }

  const DispatcherCounters& counters() const { return d.dispatcher.counters(); }

  bool defer_block = false;
  Deferred deferred;
  ByteVector bulk;
  std::optional<Credential> who;
  fabric::Expected<void> result;
  Program second{kNumber, 2, "test", table(this)};
  Program fourth{kNumber, 4, "test", {}};
  Dispatching d{{&second, &fourth}};
};

TEST_F(DispatcherTest, AProcedureGetsItsArgumentsAndItsResultsGoBack) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 1, words(41))), accepted(0, 42));
  EXPECT_EQ(counters().calls, 1U);
  EXPECT_EQ(counters().success, 1U);
}

TEST_F(DispatcherTest, ProcedureZeroIsThereWithoutBeingWritten) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 0)), accepted(0));
  EXPECT_EQ(d.answer(call_bytes(kNumber, 4, 0)), accepted(0));
}

TEST_F(DispatcherTest, ProgUnavail) {
  EXPECT_EQ(d.answer(call_bytes(kNumber + 1, 2, 1)), accepted(1));
  EXPECT_EQ(counters().prog_unavail, 1U);
}

TEST_F(DispatcherTest, ProgMismatchShowsLowestAndHighest) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 3, 1)), accepted(2, 2, 4));
  EXPECT_EQ(d.answer(call_bytes(kNumber, 5, 1)), accepted(2, 2, 4));
  EXPECT_EQ(counters().prog_mismatch, 2U);
}

TEST_F(DispatcherTest, ProcUnavail) {
  for (const std::uint32_t procedure : {6U, 8U, 12U, 0xffffffffU}) {
    EXPECT_EQ(d.answer(call_bytes(kNumber, 2, procedure)), accepted(3)) << procedure;
  }
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 11)), accepted(3));
  EXPECT_EQ(d.answer(call_bytes(kNumber, 4, 1)), accepted(3));
  EXPECT_EQ(counters().proc_unavail, 6U);
}

TEST_F(DispatcherTest, GarbageArgs) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 1)), accepted(4));
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 1, words(1, 2))), accepted(4));
  EXPECT_EQ(counters().garbage_args, 2U);
}

TEST_F(DispatcherTest, SystemErrForAHandlerThatDoesNotAnswer) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 2)), accepted(5));
  EXPECT_EQ(counters().system_err, 1U);
}

TEST_F(DispatcherTest, SystemErrForTooManyPieces) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 9)), accepted(5));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, fabric::Errc::kBadArgument);
}

TEST_F(DispatcherTest, ACallEndsOnce) {
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 10)), accepted(0));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, fabric::Errc::kNotConnected);
}

TEST_F(DispatcherTest, RpcMismatch) {
  EXPECT_EQ(d.answer(words(7, 0, 3, kNumber, 2, 0, 0, 0, 0, 0)), denied(0, 2, 2));
  EXPECT_EQ(counters().rpc_mismatch, 1U);
}

TEST_F(DispatcherTest, CredentialsThatDoNotDecodeAreBad) {
  // AUTH_SYS with an empty body; with a name that is longer than the body.
  EXPECT_EQ(d.answer(words(7, 0, 2, kNumber, 2, 0, 1, 0, 0, 0)), denied(1, 1));
  EXPECT_EQ(d.answer(words(7, 0, 2, kNumber, 2, 0, 1, 8, 0, 200, 0, 0)), denied(1, 1));
  EXPECT_EQ(counters().auth_error, 2U);
}

TEST_F(DispatcherTest, FlavorsThatAreNotKnownAreRejected) {
  // AUTH_SHORT, AUTH_DH, RPCSEC_GSS, AUTH_TLS, and an unassigned one.
  for (const std::uint32_t flavor : {2U, 3U, 6U, 7U, 390003U}) {
    EXPECT_EQ(d.answer(words(7, 0, 2, kNumber, 2, 0, flavor, 0, 0, 0)), denied(1, 2)) << flavor;
  }
}

TEST_F(DispatcherTest, AVerifierThatSaysSomethingIsBad) {
  EXPECT_EQ(d.answer(words(7, 0, 2, kNumber, 2, 0, 0, 0, 6, 0)), denied(1, 3));
}

TEST_F(DispatcherTest, AuthSysIsHandedOn) {
  // stamp 9, "ab", uid 1000, gid 100, groups 4 and 5
  const ByteVector body = words(9, 2, 0x61620000, 1000, 100, 2, 4, 5);
  EXPECT_EQ(d.answer(join({words(7, 0, 2, kNumber, 2, 7, 1, body.size()), body, words(0, 0)})),
            accepted(0));
  ASSERT_TRUE(who);
  EXPECT_EQ(who->flavor, wire::AuthFlavor::kSys);
  EXPECT_EQ(who->sys.uid, 1000U);
  EXPECT_EQ(who->sys.gid, 100U);
  EXPECT_EQ(who->sys.gid_count, 2U);
}

TEST_F(DispatcherTest, WhatIsNoCallIsAnsweredAllTheSame) {
  EXPECT_EQ(d.answer({}), accepted(4));
  EXPECT_EQ(d.answer(words(7)), accepted(4));
  EXPECT_EQ(d.answer(words(7, 1, 0, 0, 0, 0)), accepted(4));  // a Reply
  EXPECT_EQ(d.answer(words(7, 2, 0, 0, 0, 0)), accepted(4));
  EXPECT_EQ(d.answer(words(7, 0, 2, kNumber, 2, 0, 0, 404)), accepted(4));
  EXPECT_EQ(counters().not_calls, 5U);
}

// Every truncated header, and a header with each word invalid in turn: always one answer.
TEST_F(DispatcherTest, AlwaysOneAnswer) {
  const ByteVector body = words(9, 2, 0x61620000, 1000, 100, 2, 4, 5);
  const ByteVector good =
      join({words(7, 0, 2, kNumber, 2, 1, 1, body.size()), body, words(0, 0, 41)});
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(
        d.answer({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)}).empty())
        << length;
  }
  for (std::size_t at = 0; at < good.size(); at += 4) {
    for (const std::uint32_t value : {0U, 1U, 0x7fffffffU, 0xffffffffU}) {
      ByteVector bad = good;
      wire::store_be32(bad.data() + at, value);
      EXPECT_FALSE(d.answer(bad).empty()) << at << " " << value;
    }
  }
}

TEST_F(DispatcherTest, AnArgumentComesByAReadChunk) {
  const ByteVector data{1, 2, 3, 4, 5};
  const protocol::Placed item{44, data};
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 5, words(5)), {&item, 1}), accepted(0));
  EXPECT_EQ(bulk, data);
}

TEST_F(DispatcherTest, ChunksThatNoBindingAllowsAreGarbage) {
  const ByteVector data{1, 2, 3, 4, 5};
  const protocol::Placed item{44, data};
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 1, words(5)), {&item, 1}), accepted(4));
  const std::array<protocol::Placed, 2> two{item, protocol::Placed{52, data}};
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 5, words(5)), two), accepted(4));
  const protocol::Placed in_header{24, data};
  EXPECT_EQ(d.answer(call_bytes(kNumber, 2, 5, words(5)), {&in_header, 1}), accepted(4));
  EXPECT_TRUE(bulk.empty());
}

TEST_F(DispatcherTest, ADeferredCallIsAnsweredLater) {
  d.call(call_bytes(kNumber, 2, 3));
  EXPECT_TRUE(d.replies.empty());
  ASSERT_TRUE(deferred.waiting());
  const ByteVector result_bytes = words(5);
  const protocol::Piece piece{result_bytes, nullptr, false};
  EXPECT_TRUE(deferred.reply({&piece, 1}));
  ASSERT_EQ(d.replies.size(), 1U);
  EXPECT_EQ(d.replies[0].stream, accepted(0, 5));
  EXPECT_EQ(d.answered_later, 1);
  EXPECT_FALSE(deferred.waiting());
  EXPECT_FALSE(deferred.reply({}));
  EXPECT_EQ(counters().deferred, 1U);
}

TEST_F(DispatcherTest, ATokenThatIsDroppedSaysSystemErr) {
  const std::uint64_t first = d.call(call_bytes(kNumber, 2, 3));
  d.call(call_bytes(kNumber, 2, 3));  // reuses the token's slot
  ASSERT_EQ(d.replies.size(), 1U);
  EXPECT_EQ(d.replies[0].id, first);
  EXPECT_EQ(d.replies[0].stream, accepted(5));
}

TEST_F(DispatcherTest, ACancelledCallHasNobodyToAnswer) {
  const std::uint64_t id = d.call(call_bytes(kNumber, 2, 3));
  d.dispatcher.on_cancelled(id);
  EXPECT_FALSE(deferred.waiting());
  const auto sent = deferred.reply({});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, fabric::Errc::kNotConnected);
  EXPECT_TRUE(d.replies.empty());
  EXPECT_EQ(counters().cancelled, 1U);
}

TEST(Deferred, OutlivesItsDispatcher) {
  Deferred deferred;
  Program program(kNumber, 1, "test",
                  {{1,
                    "LATER",
                    [&](Call& c) {
                      EXPECT_TRUE(c.acquire(100));
                      deferred = c.defer();
                    },
                    {}}});
  {
    Dispatching d{{&program}};
    d.call(call_bytes(kNumber, 1, 1));
    EXPECT_TRUE(deferred.waiting());
  }
  EXPECT_FALSE(deferred.waiting());
  EXPECT_FALSE(deferred.reply({}));
}

TEST_F(DispatcherTest, BlocksAreBackWhenTheReplyIsSent) {
  const std::uint64_t id = d.call(call_bytes(kNumber, 2, 4));
  EXPECT_NE(d.pool.in_use(), 0U);
  d.dispatcher.on_sent(id);
  EXPECT_EQ(d.pool.in_use(), 0U);
}

TEST_F(DispatcherTest, BlocksAreBackWhenTheReplyIsRefused) {
  d.refuse = true;
  d.call(call_bytes(kNumber, 2, 4));
  EXPECT_EQ(d.pool.in_use(), 0U);
  EXPECT_EQ(counters().reply_refused, 1U);
  EXPECT_EQ(counters().success, 0U);
}

TEST_F(DispatcherTest, BlocksOfACancelledCallStayAsLongAsItsToken) {
  defer_block = true;
  const std::uint64_t id = d.call(call_bytes(kNumber, 2, 4));
  d.dispatcher.on_cancelled(id);
  EXPECT_NE(d.pool.in_use(), 0U);
  deferred = {};
  EXPECT_EQ(d.pool.in_use(), 0U);
}

TEST_F(DispatcherTest, BlocksOfADeferredCallStayUntilItsReplyIsSent) {
  defer_block = true;
  const std::uint64_t id = d.call(call_bytes(kNumber, 2, 4));
  EXPECT_TRUE(deferred.reply({}));
  EXPECT_NE(d.pool.in_use(), 0U);
  d.dispatcher.on_sent(id);
  EXPECT_EQ(d.pool.in_use(), 0U);
}

TEST(Call, TakesNoMoreBlocksThanItMay) {
  std::size_t taken = 0;
  Program program(kNumber, 1, "test",
                  {{1,
                    "GREEDY",
                    [&](Call& c) {
                      while (c.acquire(100)) ++taken;
                      (void)c.reply({});
                    },
                    {}}});
  Dispatching d{{&program}};
  d.dispatcher.on_sent(d.call(call_bytes(kNumber, 1, 1)));
  EXPECT_EQ(taken, protocol::kMaxResults);
  EXPECT_EQ(d.pool.in_use(), 0U);
}

// In steady state, for every way in which a Call can end.
TEST(DispatcherAllocations, None) {
  Deferred deferred;
  Program program(
      kNumber, 1, "test",
      {{1, "AT_ONCE", [](Call& c) { (void)c.reply({}); }, {}},
       {2, "LATER", [&](Call& c) { deferred = c.defer(); }, {}},
       {3, "BLOCK", [](Call& c) { EXPECT_TRUE(c.acquire(5000)), (void)c.reply({}); }, {}}});
  fabric::testing::NullProvider provider;
  protocol::MemoryPool pool(provider, {});
  const fabric::Time now = 0;
  Program* const programs[] = {&program};
  Dispatcher dispatcher(programs, fabric::make_ipv4(10, 0, 0, 1), pool, now);
  std::uint64_t replies = 0;
  dispatcher.attach([&](std::uint64_t, std::span<const protocol::Piece>, fabric::Time) {
    ++replies;
    return fabric::Expected<void>{};
  });
  const std::array<ByteVector, 4> calls{call_bytes(kNumber, 1, 1), call_bytes(kNumber, 1, 2),
                                        call_bytes(kNumber, 1, 3), call_bytes(kNumber, 1, 99)};
  std::uint64_t id = 0;
  const auto all = [&] {
    for (const ByteVector& bytes : calls) {
      protocol::IncomingCall incoming;
      incoming.id = ++id;
      incoming.stream = bytes;
      dispatcher.on_call(incoming);
      (void)deferred.reply({});
      dispatcher.on_sent(id);
    }
  };
  all();
  EXPECT_EQ(wire::testing::allocations_in([&] {
              for (int i = 0; i < 100; ++i) all();
            }),
            0U);
  EXPECT_EQ(replies, 404U);
}

}  // namespace
}  // namespace rpcrdma::service
