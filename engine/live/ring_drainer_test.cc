#include "ring_drainer.h"

#include "support/event_stream.h"

#include <deque>

#include <gtest/gtest.h>

namespace rpcrdma::trace {
namespace {

constexpr std::size_t kRingBytes = 4096;
constexpr std::int64_t kOffset = 1'000'000;

class DrainTest : public ::testing::Test {
 protected:
  Tracer& tracer(std::size_t bytes = kRingBytes) {
    Tracer& tracer = tracers_.emplace_back(static_cast<std::uint32_t>(tracers_.size() + 1), bytes);
    drainer_.add(tracer);
    return tracer;
  }

  // Times and losses in order: "L2" is a loss of ring 2.
  std::string pass() {
    std::string text;
    fullest_ = drainer_.pass(++now_, kOffset, [&](const EventBatch& batch) {
      ++batches_;
      for (const auto& [ring, events] : batch.lost) {
        text += "L" + std::to_string(ring) + "=" + std::to_string(events) + " ";
      }
      base::PcapngBlocks head;
      head.section();
      head.interface({.name = "x", .filter = {}, .link = base::LinkType::kUpperPdu});
      std::vector<std::uint8_t> bytes = head.bytes();
      bytes.insert(bytes.end(), batch.blocks.bytes().begin(), batch.blocks.bytes().end());
      EventStream stream(capture::open_memory(bytes));
      std::size_t n = 0;
      while (const auto emitted = stream.next()) {
        EXPECT_EQ(emitted->wall, emitted->header.time + kOffset);
        EXPECT_EQ(batch.events.at(n).ring, emitted->header.ring);
        EXPECT_EQ(batch.events.at(n).end, stream.stats().bytes_read - head.bytes().size());
        text += std::to_string(emitted->header.time) + " ";
        ++n;
      }
      EXPECT_EQ(n, batch.events.size());
    });
    return text;
  }

  std::deque<Tracer> tracers_;
  RingDrainer drainer_;
  std::int64_t now_ = 0;
  double fullest_ = 0;
  int batches_ = 0;
};

void emit(Tracer& tracer, std::int64_t time, std::size_t payload = 0) {
  tracer.emit(1, time, Invalidate{}, std::vector<std::uint8_t>(payload));
}

TEST_F(DrainTest, NothingIsNoBatch) {
  tracer();
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(batches_, 0);
  EXPECT_EQ(fullest_, 0);
}

TEST_F(DrainTest, RingsAreMergedByTime) {
  Tracer& a = tracer();
  Tracer& b = tracer();
  Tracer& c = tracer();
  for (const std::int64_t t : {1, 4, 5, 9}) emit(a, t);
  for (const std::int64_t t : {2, 3, 6}) emit(b, t);
  for (const std::int64_t t : {7, 8, 10}) emit(c, t);
  EXPECT_EQ(pass(), "1 2 3 4 5 6 7 8 9 10 ");
  EXPECT_EQ(pass(), "");
}

// A thread may emit late; the order within its ring stays.
TEST_F(DrainTest, TheOrderOfARingStays) {
  Tracer& a = tracer();
  Tracer& b = tracer();
  for (const std::int64_t t : {3, 1, 5}) emit(a, t);
  for (const std::int64_t t : {2, 4}) emit(b, t);
  EXPECT_EQ(pass(), "2 3 1 4 5 ");
}

TEST_F(DrainTest, LossesComeFirstAndOnce) {
  Tracer& a = tracer();
  emit(a, 1);
  emit(a, 2, kRingBytes);
  emit(a, 3, kRingBytes);
  emit(a, 4);
  EXPECT_EQ(pass(), "L1=2 1 4 ");
  EXPECT_EQ(pass(), "");
  emit(a, 5, kRingBytes);
  EXPECT_EQ(pass(), "L1=1 ");
}

TEST_F(DrainTest, WhatWasLostWhileNobodyReadIsEmittedToNobody) {
  Tracer& a = tracer();
  emit(a, 1, kRingBytes);
  drainer_.pass(0, kOffset, {});
  emit(a, 2);
  EXPECT_EQ(pass(), "2 ");
}

TEST_F(DrainTest, WhatStandsIsKeptThoughNobodyReads) {
  Tracer& a = tracer();
  a.emit(7, 1, Connection{});
  a.emit(8, 1, Connection{});
  a.emit(7, 1, ConnectionEnd{});
  drainer_.pass(0, kOffset, {});
  EXPECT_EQ(drainer_.snapshot().connections(), 1U);
  EXPECT_EQ(pass(), "");
}

TEST_F(DrainTest, ManyAreHandedOutInBatchesAndRoomGivenBack) {
  Tracer& a = tracer(std::size_t{1} << 20);
  Tracer& b = tracer(std::size_t{1} << 20);
  std::string expected;
  for (std::int64_t t = 0; t < 1500; ++t) {
    emit(t % 3 == 0 ? a : b, t, 500);
    expected += std::to_string(t) + " ";
  }
  EXPECT_EQ(pass(), expected);
  EXPECT_GT(batches_, 10);
  EXPECT_GT(fullest_, 0.5);
  EXPECT_LT(fullest_, 0.6);
}

TEST_F(DrainTest, WithoutRoomEventsAreCountedByRingAndTheSnapshotIsCurrent) {
  Tracer& a = tracer();
  Tracer& b = tracer();
  for (const std::int64_t t : {1, 3}) emit(a, t);
  b.emit(7, 2, Connection{});
  std::string text;
  drainer_.pass(
      0, kOffset,
      [&](const EventBatch& batch) {
        EXPECT_TRUE(batch.events.empty());
        EXPECT_TRUE(batch.blocks.bytes().empty());
        for (const auto& [ring, events] : batch.passed_over) {
          text += std::to_string(ring) + "=" + std::to_string(events) + " ";
        }
      },
      false);
  EXPECT_EQ(text, "1=2 2=1 ");
  std::size_t stands = 0;
  drainer_.snapshot().emit([&](const auto&, const auto&) { ++stands; });
  EXPECT_EQ(stands, 1U);
  emit(a, 4);
  EXPECT_EQ(pass(), "4 ");
}

// Events emitted during a pass belong to the next one.
TEST_F(DrainTest, APassHasAnEnd) {
  Tracer& a = tracer(std::size_t{1} << 20);
  for (std::int64_t t = 0; t < 500; ++t) emit(a, t, 500);
  std::size_t events = 0;
  const auto more = [&](const EventBatch& batch) {
    events += batch.events.size();
    for (std::size_t i = 0; i < batch.events.size(); ++i) emit(a, 0, 500);
  };
  drainer_.pass(0, kOffset, more);
  EXPECT_EQ(events, 500U);
  drainer_.pass(0, kOffset, more);
  EXPECT_EQ(events, 1000U);
}

}  // namespace
}  // namespace rpcrdma::trace
