// Requester and responder over two user-space adapters in virtual time: every way that a message
// can travel, with every byte compared.
#include "exchange_for_tests.h"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>

namespace rpcrdma::protocol {
namespace {

using testing::CallPlanForTest;
using testing::Exchange;
using testing::ExchangeOptions;
using testing::Opaque;
using testing::options_with;
using testing::random_plan;

// Makes Calls of each kind, one after the other and then several at a time. Checks that all were
// answered, and that no memory is in use afterwards.
void all_answered(Exchange& e, const std::vector<CallPlanForTest>& plans,
                  bool counts_roundup = false) {
  ASSERT_NO_FATAL_FAILURE(e.connect());
  for (const CallPlanForTest& p : plans) e.call(p);
  ASSERT_TRUE(e.run_to_end());
  // The first Call can have been refused for its version.
  const bool renegotiated = e.requester.counters().renegotiated != 0;
  for (const auto& [cookie, outcome] : e.outcomes) {
    EXPECT_EQ(outcome.status, CallStatus::kReplied)
        << cookie << ": " << call_status_name(outcome.status) << " " << outcome.reason;
    EXPECT_LE(outcome.attempts, renegotiated ? 2U : 1U);
  }
  e.settle();
  EXPECT_THAT(e.failures, ::testing::IsEmpty());
  EXPECT_EQ(e.requester.outstanding(), 0U);
  EXPECT_EQ(e.responder.outstanding(), 0U);
  // Nothing was lost or resent, so both sides have counted the same.
  const MessageBytes& counted = e.requester.counters().bytes;
  MessageBytes expected = e.responder.counters().bytes;
  if (counts_roundup) {
    // The requester cannot distinguish roundup from results.
    EXPECT_LE(counted.write_chunks - expected.write_chunks, 3 * kMaxResults * plans.size());
    expected.write_chunks = counted.write_chunks;
  }
  EXPECT_TRUE(renegotiated || counted == expected);
  EXPECT_EQ(e.requester.counters().calls, plans.size());
  EXPECT_EQ(e.requester.counters().replies, plans.size());
  // Each was answered, by a Reply or by an error after which it was sent again.
  const ResponderCounters& answers = e.responder.counters();
  EXPECT_EQ(answers.calls, answers.replies + answers.error_version + answers.cant_reply);
  EXPECT_EQ(e.responder.counters().replies, plans.size());
  EXPECT_EQ(e.requester.counters().error_version, e.responder.counters().error_version);
  EXPECT_EQ(e.requester.counters().error_version != 0, renegotiated);
  EXPECT_EQ(e.durations.count(), e.outcomes.size());
  e.client.reset();
  e.server.reset();
  EXPECT_EQ(e.client_pool.in_use(), 0U);
  EXPECT_EQ(e.server_pool.in_use(), 0U);
}

TEST(Exchange, InlineBothWays) {
  Exchange e;
  all_answered(e, {{{{100}}, {{200}}}, {{{0}}, {{0}}}, {{{3, false}}, {{5, false}}}, {{}, {}}});
  EXPECT_EQ(e.requester.counters().inline_calls, 4U);
  EXPECT_EQ(e.requester.counters().write_chunks, 0U);
  // Four words at the beginning of each message, and a count before each opaque.
  const MessageBytes& bytes = e.requester.counters().bytes;
  EXPECT_EQ(bytes.inline_calls, 16U + 4 + 100 + 16 + 4 + 16 + 4 + 4 + 16);
  EXPECT_EQ(bytes.inline_replies, 16U + 4 + 200 + 16 + 4 + 16 + 4 + 8 + 16);
  EXPECT_EQ(bytes.read() + bytes.written(), 0U);
}

constexpr Opaque kBig{5000};

TEST(Exchange, ReadChunk) {
  Exchange e;
  all_answered(
      e, {{{{5000}}, {}}, {{{5001, true, true}}, {}}, {{{3, false}, {70'003}, {8, false}}, {}}});
  EXPECT_EQ(e.requester.counters().read_chunks, 3U);
  EXPECT_EQ(e.requester.counters().long_calls, 0U);
  EXPECT_EQ(e.responder.counters().bytes.read_chunks, 5000U + 5001 + 70'003);
  EXPECT_EQ(e.responder.counters().bytes.long_calls, 0U);
}

TEST(Exchange, SeveralReadChunks) {
  Exchange e;
  all_answered(e, {{{{5000}, {4001, true, true}, {3000}}, {}}, {{kBig, {10, false}, kBig}, {}}});
  EXPECT_EQ(e.requester.counters().read_chunks, 5U);
}

TEST(Exchange, PositionZero) {
  Exchange e;
  all_answered(e, {{{{5000, false}}, {}}, {{{1021, false}, {30}}, {}}});
  EXPECT_EQ(e.requester.counters().long_calls, 2U);
  const MessageBytes& bytes = e.requester.counters().bytes;
  EXPECT_EQ(bytes.long_calls, 16U + 4 + 5000 + 16 + 4 + 1024 + 4 + 32);
  EXPECT_EQ(bytes.inline_calls + bytes.read_chunks, 0U);
}

TEST(Exchange, WriteChunks) {
  Exchange e;
  all_answered(e, {{{}, {{5000}}},
                   {{}, {{5001, true, true}}, 3000},
                   {{}, {{5000}, {4003}, {1, true, true}}, 5},
                   {{}, {{0}, {6000}, {0}}, 9}});
  EXPECT_EQ(e.requester.counters().write_chunks, 8U);
  EXPECT_EQ(e.requester.counters().reply_chunks, 0U);
  EXPECT_EQ(e.requester.counters().bytes.write_chunks, 5000U + 5001 + 5000 + 4003 + 1 + 6000);
}

TEST(Exchange, ReplyChunk) {
  Exchange e;
  all_answered(e, {{{}, {{5000, false}}},
                   {{}, {{5001, true}, {70, false}}, 0, fabric::kNever, 0, false},
                   {{}, {{5001, true, true}, {5002, true, true}}, 0, fabric::kNever, 0, false}});
  EXPECT_EQ(e.requester.counters().reply_chunks, 3U);
  EXPECT_EQ(e.requester.counters().write_chunks, 0U);
  EXPECT_EQ(e.requester.counters().bytes.reply_chunks,
            16U + 4 + 5000 + 16 + 4 + 5004 + 4 + 72 + 16 + 4 + 5004 + 4 + 5004);
}

TEST(Exchange, AllAtOnceInSeveralSegments) {
  ExchangeOptions o;
  o.client.max_segment = 700;
  Exchange e(o);
  all_answered(e, {{{{5000}, {2801, true, true}}, {{2000}, {3501, true, true}, {1500, false}}, 800},
                   {{{5003, false}}, {{2000}, {1500, false}}},
                   {{}, {{2100}, {5003, false}}}});
  EXPECT_EQ(e.requester.counters().long_calls, 1U);
  EXPECT_EQ(e.requester.counters().read_chunks, 2U);
  EXPECT_EQ(e.requester.counters().reply_chunks, 3U);
}

// Around the inline thresholds and around roundups each length is a case of its own.
TEST(Exchange, EveryLengthAroundTheThresholds) {
  for (const bool ddp : {true, false}) {
    Exchange e;
    std::vector<CallPlanForTest> plans;
    for (std::uint32_t n = 940; n <= 1030; ++n) {
      plans.push_back({{{n, ddp}}, {{n, ddp}}});
      plans.push_back({{{n, ddp, true}, {1, false}}, {{n, ddp, true}, {1, false}}, n % 7});
    }
    all_answered(e, plans);
    const RequesterCounters& c = e.requester.counters();
    EXPECT_GT(c.inline_calls, 0U);
    EXPECT_GT(ddp ? c.read_chunks : c.long_calls, 0U);
    EXPECT_GT(ddp ? c.write_chunks : c.reply_chunks, 0U);
  }
}

TEST(Exchange, OneMegabyteEachWay) {
  ExchangeOptions o;
  o.client = o.server = options_with(4096, 1U << 18);
  Exchange e(o);
  all_answered(e, {{{{1U << 20, true, true}}, {{1U << 20, true, true}}},
                   {{{(1U << 20) - 1}}, {{(1U << 20) - 3}}}});
  EXPECT_EQ(e.responder.counters().bytes.write_chunks, (2U << 20) - 3);
}

TEST(Exchange, RepliesInAnyOrder) {
  Exchange e;
  std::vector<CallPlanForTest> plans;
  for (int i = 0; i < 200; ++i) {
    CallPlanForTest p{{{static_cast<std::uint32_t>(i)}}, {{static_cast<std::uint32_t>(i) * 20}}};
    p.service_time = i * 7 % 50 * fabric::kMicrosecond;
    plans.push_back(p);
  }
  all_answered(e, plans);
  EXPECT_EQ(e.requester.credit_limit(), 1U);  // of the next connection
  EXPECT_GT(e.requester.counters().stalls, 100U);
}

void speak_rfc5666(ExchangeOptions& o, soft::Random& random) {
  o.requester.rfc5666 = o.responder.rfc5666 = true;
  o.requester.offer_nothing = random.chance(0.5);
  constexpr std::array<std::uint32_t, 4> kAligns{0, 64, 100, 512};
  o.client.terms.padding = {kAligns[random.below(4)],
                            50 + static_cast<std::uint32_t>(random.below(200))};
  for (ChannelOptions* c : {&o.client, &o.server}) {
    if (random.chance(0.5)) c->terms.max_reads = 1 + static_cast<std::uint32_t>(random.below(3));
  }
}

// Random messages over a network that loses, duplicates, reorders and corrupts packets; connections
// that end at random. There is always exactly one outcome and no wrong byte.
ExchangeOptions random_options(std::uint64_t seed, soft::Random& random, double rate) {
  ExchangeOptions o;
  o.seed = seed;
  const auto threshold = static_cast<std::uint32_t>(1024U << random.below(3));
  o.client = o.server = options_with(threshold);
  o.client.max_segment =
      static_cast<std::uint32_t>(random.chance(0.5) ? 1U << 30 : 3000U + random.below(5000));
  // Any version ranges with a version in common.
  constexpr std::array<Versions, 3> kVersions{{{1, 1}, {1, 2}, {2, 2}}};
  o.client.versions = kVersions[random.below(3)];
  o.server.versions = o.client.versions.low == o.client.versions.high
                          ? kVersions[random.chance(0.5)           ? 1
                                      : o.client.versions.low == 1 ? 0
                                                                   : 2]
                          : kVersions[random.below(3)];
  o.client.accepts_invalidate = o.server.terms.remote_invalidation = random.chance(0.5);
  o.server.sends_invalidate = random.chance(0.7);
  if (random.chance(0.5)) {
    o.server.max_transfer = 200U + static_cast<std::uint32_t>(random.below(3000));
  }
  o.requester.credits = 1 + static_cast<std::uint32_t>(random.below(16));
  o.responder.credits = 1 + static_cast<std::uint32_t>(random.below(16));
  o.requester.first_xid = static_cast<std::uint32_t>(random.next());
  o.adapter.mtu = 1024;
  // Without it a Send that finds no Receive ends the connection, as with Linux.
  o.adapter.flow_control = random.chance(0.5);
  o.adapter.ack_timeout = 8;  // 1 ms
  o.adapter.cm.response_timeout = fabric::kMillisecond;
  for (soft::SimDirection* d : {&o.link.out, &o.link.in}) {
    d->delay = 3 * fabric::kMicrosecond;
    d->loss = d->duplication = d->reordering = d->corruption = rate;
  }
  if (random.chance(0.3)) speak_rfc5666(o, random);
  return o;
}

std::uint64_t seeds() {
  const char* const text = std::getenv("RPCRDMA_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 60;
}

TEST(Exchange, RandomMessages) {
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    soft::Random random(seed);
    const ExchangeOptions options = random_options(seed, random, 0);
    Exchange e(options);
    std::vector<CallPlanForTest> plans;
    for (int i = 0; i < 40; ++i) plans.push_back(random_plan(random));
    all_answered(e, plans, options.responder.rfc5666);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Exchange, ABadNetworkAndConnectionsThatEnd) {
  std::uint64_t answered = 0;
  std::uint64_t resent = 0;
  std::uint64_t cancelled = 0;
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    soft::Random random(seed + 1000);
    const double rate = seed % 4 == 0 ? 0 : 0.05;
    Exchange e(random_options(seed, random, rate));
    e.lossy = true;
    constexpr std::size_t kCalls = 30;
    for (std::size_t i = 0; i < kCalls; ++i) {
      CallPlanForTest p = random_plan(random);
      if (random.chance(0.2)) p.timeout = static_cast<fabric::Time>(random.below(20'000'000));
      e.call(p);
    }
    // Ends the connection now and then, by either side and by any means.
    for (int i = 0; i < 300 && e.outcomes.size() != kCalls; ++i) {
      e.client_down = false;
      e.connect();
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
      const fabric::Time life =
          static_cast<fabric::Time>(random.below(i < 8 ? 400'000 : 400'000'000));
      e.run_until([&] { return e.client_down || e.outcomes.size() == kCalls; }, e.net.now() + life);
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
      const std::uint64_t how = random.below(4);
      if (e.outcomes.size() == kCalls || how == 0) continue;
      if (how == 1) e.client->connection().disconnect();
      if (how == 2 && e.server != nullptr) e.server->connection().disconnect();
      if (how == 3) e.server.reset();
      e.run_until([&] { return e.client_down; }, e.net.now() + fabric::kSecond);
    }
    e.settle();
    e.client.reset();
    e.server.reset();
    ASSERT_EQ(e.outcomes.size(), kCalls) << "seed " << seed;
    for (const auto& [cookie, o] : e.outcomes) {
      EXPECT_TRUE(o.status == CallStatus::kReplied || o.status == CallStatus::kTimedOut)
          << call_status_name(o.status) << " " << o.reason;
      answered += o.status == CallStatus::kReplied ? 1U : 0U;
    }
    EXPECT_EQ(e.requester.outstanding(), 0U);
    EXPECT_EQ(e.client_pool.in_use(), 0U);
    EXPECT_EQ(e.server_pool.in_use(), 0U);
    EXPECT_EQ(e.refused, 0U);
    resent += e.requester.counters().resent;
    cancelled += e.cancelled;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(answered, seeds() * 20);
  EXPECT_GT(resent, seeds());
  EXPECT_GT(cancelled, seeds() / 10);
}

}  // namespace
}  // namespace rpcrdma::protocol
