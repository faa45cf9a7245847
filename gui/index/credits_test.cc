// Extremes of credits over time at every scale, and a client's own limit.
#include "index_for_tests.h"
#include "support/trace_builder.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/index/credits.h>

namespace rpcrdma::index {
namespace {

CreditEntry entry(std::int64_t time, std::uint32_t granted, std::uint32_t in_use) {
  return {time, 1, granted, granted, in_use, 0, 0};
}

TEST(Credits, OneSpikeAmongAMillionIsSeenInAnyWindow) {
  CreditLog log;
  for (int i = 0; i < 1'000'000; ++i) {
    log.add(entry(i * 10, 32, i == 345'678 ? 31 : i == 345'679 ? 0 : 8));
  }
  for (const std::int64_t width : {10'000'000, 4'000'000, 1'000'000}) {
    const std::int64_t from = std::max<std::int64_t>(0, 3'456'780 - width / 2);
    std::uint32_t most = 0;
    std::uint32_t least = 99;
    for (const CreditSpan& s : log.columns(from, from + width, 200)) {
      if (!s.any) continue;
      most = std::max(most, s.in_use_max);
      least = std::min(least, s.in_use_min);
    }
    EXPECT_EQ(most, 31u);
    EXPECT_EQ(least, 0u);
  }
}

TEST(Credits, EveryEntryComesBackAsItWas) {
  std::mt19937_64 random(11);
  const auto any = [&random] { return random() >> (random() % 64); };
  const auto small = [&any] { return static_cast<std::uint32_t>(any()); };
  CreditLog log;
  std::vector<CreditEntry> all;
  CreditEntry e{std::numeric_limits<std::int64_t>::min(), 1, 1, 1, 1, 0, 0};
  std::uint64_t message = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t room =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) -
        static_cast<std::uint64_t>(e.time_ns);
    e.time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(e.time_ns) +
                                          std::min(room / 2, any()));
    if (random() % 3 != 0) e.message = random() % 2 == 0 ? message + 1 : any();
    if (random() % 5 == 0) e.message = 0;
    for (auto* const value : {&e.requested, &e.granted, &e.in_use, &e.waiting, &e.limit}) {
      if (random() % 3 == 0) *value = small();
    }
    if (e.message != 0) message = e.message;
    all.push_back(e);
    log.add(e);
    ASSERT_EQ(log.message_at(log.size() - 1), message) << i;
  }
  ASSERT_EQ(log.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CreditEntry got = log.entry(i);
    const auto values = [](const CreditEntry& c) {
      return std::tuple(c.time_ns, c.message, c.requested, c.granted, c.in_use, c.waiting, c.limit);
    };
    ASSERT_EQ(values(got), values(all[i])) << i;
    const std::size_t at = log.at(all[i].time_ns);
    ASSERT_EQ(log.entry(at).time_ns, all[i].time_ns);
    ASSERT_TRUE(at + 1 == all.size() || all[at + 1].time_ns > all[i].time_ns) << i;
  }
}

TEST(Credits, AnOrdinaryEntryTakesFewBytes) {
  CreditLog log;
  for (int i = 0; i < 100'000; ++i) log.add(entry(i * 1000, 64, i % 2 == 0 ? 3 : 4));
  EXPECT_LT(log.footprint(), 100'000u * 12);
}

TEST(Credits, ColumnsSayWhatEachEntryInThemSays) {
  std::mt19937 random(7);
  CreditLog log;
  std::vector<CreditEntry> all;
  std::int64_t time = 0;
  for (int i = 0; i < 5000; ++i) {
    time += static_cast<std::int64_t>(random() % 100);
    all.push_back(entry(time, random() % 64, random() % 64));
    log.add(all.back());
  }
  for (int round = 0; round < 200; ++round) {
    const auto from = static_cast<std::int64_t>(random() % 200'000);
    const auto to = from + 1 + static_cast<std::int64_t>(random() % 100'000);
    for (const CreditSpan& s : log.columns(from, to, 1 + random() % 50)) {
      CreditSpan expected;
      const CreditEntry* before = nullptr;
      for (const CreditEntry& e : all) {
        if (e.time_ns < s.from_ns) before = &e;
        if (e.time_ns >= s.from_ns && e.time_ns < s.to_ns) expected.add(e);
      }
      if (before != nullptr) expected.add(*before);
      ASSERT_EQ(s.any, expected.any);
      if (!s.any) continue;
      ASSERT_EQ(s.in_use_max, expected.in_use_max);
      ASSERT_EQ(s.in_use_min, expected.in_use_min);
      ASSERT_EQ(s.granted_min, expected.granted_min);
      ASSERT_EQ(s.exhausted, expected.exhausted);
    }
  }
}

TEST(Credits, TwoLogsThatTurnOutToBeOneAreInOrder) {
  CreditLog odd;
  CreditLog even;
  for (std::uint32_t i = 0; i < 200; ++i) (i % 2 != 0 ? odd : even).add(entry(i, 9, i % 7));
  odd.merge(even);
  ASSERT_EQ(odd.size(), 200u);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(odd.entry(i).time_ns, static_cast<std::int64_t>(i));
    EXPECT_EQ(odd.entry(i).in_use, i % 7);
  }
}

TEST(Credits, AnEmptyLogTakesAllOfAnother) {
  for (const std::uint32_t size : {0U, 1U, 31U, 32U, 33U, 200U}) {
    CreditLog log;
    CreditLog other;
    for (std::uint32_t i = 0; i < size; ++i) other.add(entry(i, 9, i % 7));
    log.merge(other);
    ASSERT_EQ(log.size(), size);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(log.entry(i).in_use, i % 7);
    log.merge(CreditLog());
    EXPECT_EQ(log.size(), size);
  }
}

TEST(Credits, NothingIsKnownBeforeTheFirst) {
  CreditLog log;
  EXPECT_FALSE(log.columns(0, 100, 1).front().any);
  log.add(entry(50, 4, 4));
  const auto columns = log.columns(0, 100, 4);
  EXPECT_FALSE(columns[0].any);
  EXPECT_TRUE(columns[2].any);
  EXPECT_TRUE(columns[3].exhausted);
  EXPECT_TRUE(log.columns(5, 5, 3).empty());
}

TEST(Credits, ALimitIsThatOfTheEntriesThatKnowIt) {
  CreditSpan span;
  CreditEntry e = entry(1, 32, 4);
  span.add(e);
  EXPECT_EQ(span.limit_max, 0U);
  for (const std::uint32_t limit : {8U, 4U, 0U}) {
    e.limit = limit;
    span.add(e);
  }
  EXPECT_EQ(span.limit_min, 4U);
  EXPECT_EQ(span.limit_max, 8U);
  EXPECT_FALSE(span.exhausted);  // 28 credits are left
}

// A client that uses all of its four credits, at a server that grants 32.
template <typename Credits>
trace_reader::testing::TraceBuilder recording_of_a_client(const Credits& credits) {
  trace_reader::testing::TraceBuilder t;
  t.begin("load");
  trace_reader::testing::emit_plain_connection(t, 7);
  for (std::uint8_t xid = 1; xid < 6; ++xid) {
    for (const std::uint8_t reply : std::array<std::uint8_t, 2>{0, 1}) {
      trace_reader::testing::Bytes bytes{0, 0, 0, xid, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0,
                                         0, 0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, xid};
      bytes.insert(bytes.end(), {0, 0, 0, reply});
      if (reply != 0) {
        bytes.resize(bytes.size() + 16);
      } else {
        for (const std::uint8_t word : std::array<std::uint8_t, 8>{2, 99, 1, 1})
          bytes.insert(bytes.end(), {0, 0, 0, word});
      }
      trace::Message m;
      m.side = reply;
      m.length = static_cast<std::uint32_t>(bytes.size());
      t.emit(7, m, bytes);
      t.emit(7, credits);
    }
  }
  t.end();
  return t;
}

// The window's credits of its Calls after the first Reply.
CreditSpan after_the_first_reply(const trace_reader::testing::TraceBuilder& recording) {
  const std::string path = ::testing::TempDir() + "credits." + std::to_string(::getpid());
  const auto bytes = recording.pcapng();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const testing::Loaded loaded(path);
  std::remove(path.c_str());
  CreditSpan span;
  loaded.store.read([&span](const Content& c) {
    ASSERT_FALSE(c.credits.empty());
    ASSERT_NE(c.credits[0], nullptr);
    const CreditLog& log = *c.credits[0];
    ASSERT_EQ(log.size(), 20U);
    // Call, endpoint's report, Reply, endpoint's report.
    for (std::size_t i = 2; i < log.size(); ++i) span.add(log.entry(i));
  });
  return span;
}

TEST(Credits, AClientsOwnLimitIsNoGrant) {
  trace::Credits own;
  own.requested = own.limit = own.in_use = 4;
  own.granted = 32;
  for (const CreditSpan& s :
       {after_the_first_reply(recording_of_a_client(own)),
        after_the_first_reply(recording_of_a_client(
            trace_reader::testing::CreditsWithoutLimit{0, {}, 4, 4, 4, 0, 0}))}) {
    EXPECT_EQ(s.granted_min, 32U);
    EXPECT_EQ(s.granted_max, 32U);
    EXPECT_EQ(s.limit_min, 4U);
    EXPECT_EQ(s.limit_max, 4U);
    EXPECT_FALSE(s.exhausted);
  }
}

TEST(Credits, NoneIsLeftWhereCallsWaitOrAllThatAreGrantedAreInUse) {
  trace::Credits own;
  own.requested = own.granted = own.limit = own.in_use = 4;
  EXPECT_TRUE(after_the_first_reply(recording_of_a_client(own)).exhausted);
  own.in_use = 3;
  EXPECT_FALSE(after_the_first_reply(recording_of_a_client(own)).exhausted);
  own.waiting = 1;
  EXPECT_TRUE(after_the_first_reply(recording_of_a_client(own)).exhausted);
}

}  // namespace
}  // namespace rpcrdma::index
