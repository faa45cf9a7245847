// A loop over a scripted provider: which member gets an event, and how long the loop sleeps.
#include "calls_for_tests.h"
#include "support/null_provider.h"

#include <deque>

#include <rpcrdma/service/loop.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::service {
namespace {

class Emitted final : public fabric::testing::NullProvider {
 public:
  bool arm() override { return completions.empty() && events.empty(); }
  std::size_t poll(std::span<fabric::Completion> out) override {
    std::size_t n = 0;
    for (; n < out.size() && !completions.empty(); completions.pop_front()) {
      out[n++] = completions.front();
    }
    return n;
  }
  bool poll(fabric::Event& event) override {
    if (events.empty()) return false;
    // As in every provider, the end is delivered after all completions.
    const fabric::EventType type = events.front().type;
    if (type == fabric::EventType::kDisconnected && !completions.empty()) return false;
    event = std::move(events.front());
    events.pop_front();
    return true;
  }

  void complete(std::uint64_t cookie, std::uint64_t id) {
    fabric::Completion c;
    c.connection = cookie;
    c.id = id;
    completions.push_back(c);
  }
  void happen(std::uint64_t cookie, fabric::EventType type) {
    fabric::Event& e = events.emplace_back();
    e.cookie = cookie;
    e.type = type;
  }

  std::deque<fabric::Completion> completions;
  std::deque<fabric::Event> events;
};

struct Member : LoopMember {
  explicit Member(Loop& l) : loop(l) { loop.join(*this); }
  ~Member() override { loop.leave(*this); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void on_event(std::uint32_t key, fabric::Event& event, fabric::Time) override {
    log.push_back(std::string(fabric::event_name(event.type)) + std::to_string(key));
  }
  void on_completion(std::uint32_t key, const fabric::Completion& c, fabric::Time) override {
    log.push_back(std::to_string(key) + ":" + std::to_string(c.id));
  }
  void flush(fabric::Time) override { ++flushes; }
  fabric::Time deadline() const override { return due; }
  void expire(fabric::Time now) override {
    EXPECT_GE(now, due);
    ++expired;
    due = fabric::kNever;
  }
  void on_provider_lost(fabric::Time) override { log.emplace_back("lost"); }

  Loop& loop;
  fabric::Time due = fabric::kNever;
  int flushes = 0, expired = 0;
  std::vector<std::string> log;
};

class LoopTest : public ::testing::Test {
 protected:
  Emitted provider;
  std::unique_ptr<Loop> loop = Loop::create(provider).value();
  Member a{*loop}, b{*loop};
};

using Log = std::vector<std::string>;

TEST(LoopClock, IsThatOfTheOptions) {
  Emitted provider;
  fabric::Time clock = 5 * fabric::kSecond;
  LoopOptions options;
  options.clock = &clock;
  const auto loop = Loop::create(provider, options).value();
  Member member(*loop);
  member.due = 6 * fabric::kSecond;
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_EQ(loop->now(), clock);
  EXPECT_EQ(member.expired, 0);
  clock = member.due;
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_EQ(loop->now(), clock);
  EXPECT_EQ(member.expired, 1);
}

TEST_F(LoopTest, EachGetsItsOwn) {
  const std::uint64_t a7 = loop->add_cookie(a, 7);
  const std::uint64_t b7 = loop->add_cookie(b, 7);
  const std::uint64_t a8 = loop->add_cookie(a, 8);
  provider.complete(b7, 1);
  provider.complete(a8, 2);
  provider.complete(a7, 3);
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_EQ(a.log, (Log{"8:2", "7:3"}));
  EXPECT_EQ(b.log, (Log{"7:1"}));
  EXPECT_GT(a.flushes, 0);
}

// A message may arrive before its connection is known to be established, and completions before the
// end still count.
TEST_F(LoopTest, CompletionsComeBetweenTheBeginAndTheEnd) {
  const std::uint64_t cookie = loop->add_cookie(a, 7);
  for (std::uint64_t i = 0; i < 1000; ++i) provider.complete(cookie, i);
  provider.happen(cookie, fabric::EventType::kEstablished);
  provider.happen(cookie, fabric::EventType::kDisconnected);
  ASSERT_TRUE(loop->run_once(0));
  ASSERT_EQ(a.log.size(), 1002U);
  EXPECT_EQ(a.log[0], std::string(fabric::event_name(fabric::EventType::kEstablished)) + '7');
  EXPECT_EQ(a.log[1], "7:0");
  EXPECT_EQ(a.log[1000], "7:999");
  EXPECT_EQ(a.log[1001], std::string(fabric::event_name(fabric::EventType::kDisconnected)) + '7');
}

TEST_F(LoopTest, WhatWasDroppedGetsNothingEvenIfItsPlaceIsTaken) {
  const std::uint64_t first = loop->add_cookie(a, 7);
  loop->drop_cookie(first);
  const std::uint64_t second = loop->add_cookie(b, 9);
  EXPECT_NE(first, second);
  provider.complete(first, 1);
  provider.complete(second, 2);
  provider.complete(12345, 3);
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_TRUE(a.log.empty());
  EXPECT_EQ(b.log, (Log{"9:2"}));
  EXPECT_EQ(loop->counters().strays, 2U);
}

TEST_F(LoopTest, OneThatLeavesTakesItsCookiesAlong) {
  std::uint64_t cookie = 0;
  {
    Member gone(*loop);
    cookie = loop->add_cookie(gone, 1);
  }
  provider.complete(cookie, 1);
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_EQ(loop->counters().strays, 1U);
}

// Processes a completion until the clock shows another time.
struct Busy : Member {
  using Member::Member;
  void on_completion(std::uint32_t, const fabric::Completion&, fabric::Time now) override {
    came = now;
    while (Loop::read_clock() <= now) {
    }
    worked = Loop::read_clock();
  }
  void flush(fabric::Time now) override { left = now; }

  fabric::Time came = 0, worked = 0, left = 0;
};

TEST(LoopTime, WhoListensIsEmittedWhatATurnTook) {
  Emitted provider;
  trace::Tracer tracer(1, 4096);
  LoopOptions options;
  options.tracer = &tracer;
  const auto loop = Loop::create(provider, options).value();
  Busy busy(*loop);
  const std::uint64_t cookie = loop->add_cookie(busy, 1);
  provider.complete(cookie, 1);
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_EQ(busy.left, busy.came);  // no trace reader, so the clock is read once
  tracer.listen(true);
  provider.complete(cookie, 2);
  ASSERT_TRUE(loop->run_once(0));
  EXPECT_GE(busy.left, busy.worked);
  EXPECT_EQ(loop->now(), busy.left);
}

TEST_F(LoopTest, SleepsUntilTheNextDeadline) {
  a.due = loop->now() + 5 * fabric::kMillisecond;
  b.due = loop->now() + fabric::kSecond;
  while (a.expired == 0) ASSERT_TRUE(loop->run_once());
  EXPECT_EQ(b.expired, 0);
  EXPECT_GE(loop->counters().sleeps, 1U);
}

TEST_F(LoopTest, ADeadlineThatIsPastIsMetAtOnce) {
  a.due = 0;
  ASSERT_TRUE(loop->run_once());
  EXPECT_EQ(a.expired, 1);
  EXPECT_EQ(loop->counters().sleeps, 0U);
}

TEST_F(LoopTest, SpinsBeforeItSleeps) {
  LoopOptions options;
  options.spin = fabric::kNever;
  const auto spinning = Loop::create(provider, options).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(spinning->run_once());
  EXPECT_EQ(spinning->counters().sleeps, 0U);
}

TEST_F(LoopTest, WakesAndStops) {
  loop->wake();
  EXPECT_TRUE(loop->run_once().value());
  loop->stop();
  EXPECT_FALSE(loop->run_once().value());
  EXPECT_TRUE(loop->run());
}

TEST_F(LoopTest, TheEndOfTheProviderIsEmitted) {
  provider.happen(0, fabric::EventType::kProviderLost);
  const auto going = loop->run_once();
  ASSERT_FALSE(going);
  EXPECT_EQ(a.log, (Log{"lost"}));
  EXPECT_EQ(b.log, (Log{"lost"}));
}

}  // namespace
}  // namespace rpcrdma::service
