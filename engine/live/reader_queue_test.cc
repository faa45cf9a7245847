// The bounded queue of one reader: sums at Loss events, behaviour at the limit, partial reads.
#include "reader_queue.h"

#include "make_event.h"
#include "support/event_stream.h"

#include <gtest/gtest.h>

namespace rpcrdma::trace {
namespace {

constexpr std::int64_t kClockOffset = 500;
constexpr std::size_t kMost = 4000;

// The stream of a reader that reads bytes on demand.
class OutletTest : public ::testing::Test {
 protected:
  OutletTest() {
    base::PcapngBlocks head;
    head.section();
    head.interface({.name = "x", .filter = {}, .link = base::LinkType::kUpperPdu});
    queue_.begin(head.bytes(), kClockOffset);
    read(queue_.waiting().size());
  }

  // Adds one more event of `ring`.
  void emit(std::uint32_t ring) {
    EventBatch batch;
    put(batch, ring);
    queue_.add(batch);
  }
  void put(EventBatch& batch, std::uint32_t ring) {
    const auto event = make_event(ring, ++time_, Invalidate{});
    batch.put(announced(event).header, event, kClockOffset);
  }

  void read(std::size_t bytes) {
    const auto waiting = queue_.waiting().first(std::min(bytes, queue_.waiting().size()));
    stream_.insert(stream_.end(), waiting.begin(), waiting.end());
    queue_.went(waiting.size());
  }
  void read_all() { read(queue_.waiting().size()); }

  // "1": an event of ring 1. "1:5-2": 2 of its 5 events were lost.
  std::string text() {
    std::string text;
    EventStream stream(capture::open_memory(stream_));
    while (const auto emitted = stream.next()) {
      text += std::to_string(emitted->header.ring);
      if (emitted->type() == EventType::kLoss) {
        const auto loss = emitted->as<Loss>();
        text += ":" + std::to_string(loss.emitted) + "-" + std::to_string(loss.lost);
        EXPECT_EQ(emitted->wall, emitted->header.time + kClockOffset);
      }
      text += " ";
    }
    EXPECT_EQ(stream.stats().damage, "");
    return text;
  }

  ReaderQueue queue_{kMost};
  std::vector<std::uint8_t> stream_;
  std::int64_t time_ = 0;
};

TEST_F(OutletTest, EventsAndSums) {
  emit(1);
  emit(2);
  emit(1);
  queue_.emit_sums(99);
  emit(2);
  queue_.emit_sums(99);
  queue_.emit_sums(99);  // nothing happened: a sign of life
  read_all();
  EXPECT_EQ(text(), "1 2 1 1:2-0 2:1-0 2 2:2-0 2:2-0 ");
}

TEST_F(OutletTest, WhatRingsLostIsEmittedBeforeWhatCameAfter) {
  emit(1);
  EventBatch batch;
  batch.lost.push_back({2, 3});
  batch.lost.push_back({1, 4});
  put(batch, 1);
  put(batch, 2);
  queue_.add(batch);
  EventBatch only_lost;
  only_lost.lost.push_back({2, 1});
  queue_.add(only_lost);
  read_all();
  EXPECT_EQ(text(), "1 1:5-4 2:3-3 1 2 2:5-4 ");
}

// A block has 88 bytes.
TEST_F(OutletTest, AFullOneLosesUntilHalfIsFree) {
  constexpr std::size_t kFit = kMost / 88;
  for (std::size_t i = 0; i < kFit + 10; ++i) emit(1);
  EXPECT_EQ(queue_.waiting().size(), kFit * 88);
  read(kMost / 2 - 100);
  emit(1);
  queue_.emit_losses(99);
  queue_.emit_sums(99);
  EXPECT_LT(queue_.waiting().size(), kFit * 88);
  read(200);
  emit(1);
  emit(1);
  read_all();
  std::string expected;
  for (std::size_t i = 0; i < kFit; ++i) expected += "1 ";
  EXPECT_EQ(text(), expected + "1:" + std::to_string(kFit + 11) + "-11 1 1 ");
}

TEST_F(OutletTest, EventsThatWerePassedOverAreLost) {
  emit(1);
  EventBatch batch;
  for (const std::uint32_t ring : {1U, 2U, 1U}) batch.pass_over(ring);
  EXPECT_EQ(queue_.add(batch), 3U);
  emit(2);
  read_all();
  EXPECT_EQ(text(), "1 1:3-2 2:1-1 2 ");
}

TEST_F(OutletTest, HasRoomUntilALossAndFromHalfOn) {
  EXPECT_TRUE(queue_.has_room());
  while (queue_.waiting().size() + 88 <= kMost) emit(1);
  EXPECT_TRUE(queue_.has_room());
  emit(1);
  EXPECT_FALSE(queue_.has_room());
  read(kMost / 2);
  EXPECT_TRUE(queue_.has_room());
}

TEST_F(OutletTest, ALossIsEmittedAsSoonAsThereIsRoomThoughNothingFollows) {
  for (int i = 0; i < 100; ++i) emit(1);
  queue_.emit_losses(99);
  EXPECT_LE(queue_.waiting().size(), kMost);
  read_all();
  queue_.emit_losses(99);
  queue_.emit_losses(99);
  read_all();
  std::string expected;
  for (std::size_t i = 0; i < kMost / 88; ++i) expected += "1 ";
  EXPECT_EQ(text(), expected + "1:100-" + std::to_string(100 - kMost / 88) + " ");
}

TEST_F(OutletTest, OfABatchItTakesWhatFits) {
  EventBatch batch;
  for (int i = 0; i < 30; ++i) {
    put(batch, 1);
    put(batch, 2);
  }
  queue_.add(batch);
  queue_.emit_sums(99, true);
  read_all();
  std::string expected;
  for (std::size_t i = 0; i < kMost / 88; ++i) expected += i % 2 == 0 ? "1 " : "2 ";
  EXPECT_EQ(text(), expected + "1:30-7 2:30-8 ");
}

TEST_F(OutletTest, AnEventLargerThanItIsLost) {
  EventBatch batch;
  const auto event = make_event(1, 1, Invalidate{}, std::vector<std::uint8_t>(kMost));
  batch.put(announced(event).header, event, kClockOffset);
  put(batch, 1);
  queue_.add(batch);
  emit(1);
  read_all();
  EXPECT_EQ(text(), "1:2-2 1 ");
}

// However slowly it is read, all emitted events are accounted for.
TEST_F(OutletTest, ReadByAFewBytes) {
  for (int i = 0; i < 5000; ++i) {
    emit(1 + static_cast<std::uint32_t>(i % 3));
    if (i % 7 == 0) queue_.emit_sums(i);
    read(static_cast<std::size_t>(i % 150));
    queue_.emit_losses(i);
  }
  queue_.emit_sums(99, true);
  read_all();
  EventStream stream(capture::open_memory(stream_));
  (void)stream.rest();
  EXPECT_TRUE(stream.audit.is_complete());
  EXPECT_EQ(
      stream.audit.ring(1).emitted + stream.audit.ring(2).emitted + stream.audit.ring(3).emitted,
      5000U);
  EXPECT_GT(stream.audit.ring(1).lost, 0U);
}

TEST_F(OutletTest, ABufferOfAnotherThreadIsSwapped) {
  emit(1);
  std::vector<std::uint8_t> buffer;
  queue_.swap(buffer);
  EXPECT_TRUE(queue_.waiting().empty());
  stream_.insert(stream_.end(), buffer.begin(), buffer.end());
  buffer.clear();
  queue_.swap(buffer);
  emit(1);
  read_all();
  EXPECT_EQ(text(), "1 1 ");
}

}  // namespace
}  // namespace rpcrdma::trace
