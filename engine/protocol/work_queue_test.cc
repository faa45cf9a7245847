// The order in which a channel posts the requests of several Replies.
#include "work_queue.h"

#include "support/fake_fabric.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::protocol {
namespace {

// Slots with Writes of equal length, and a Send after them.
struct Replies : WorkSource {
  bool next_work(std::uint32_t slot, WorkRequest& work) override {
    if (next_write(slot, work)) return false;
    work.request.operation = fabric::Operation::kSend;
    work.request.id = slot;
    if (copied) work.is_copied();
    return true;
  }
  bool next_write(std::uint32_t slot, WorkRequest& work) override {
    if (writes[slot] == 0) return false;
    --writes[slot];
    work.request.operation = fabric::Operation::kWrite;
    work.request.id = slot;
    work.slices[0] = {bytes.data(), static_cast<std::uint32_t>(bytes.size()), 1};
    work.slice_count = 1;
    return true;
  }

  void posted(std::uint32_t slot) override { reported.push_back(slot); }

  std::vector<std::uint32_t> reported;  // by posted()
  bool copied = false;                  // the Sends
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(4096);
  std::vector<unsigned> writes;
};

class WorkQueueTest : public ::testing::Test {
 protected:
  // Each slot has as many Writes. Returns what was posted: "W0 S0 ".
  std::string post(std::vector<unsigned> writes) {
    replies.writes = std::move(writes);
    for (std::uint32_t i = 0; i < replies.writes.size(); ++i) queue.add(replies, i);
    return post();
  }
  std::string post() {
    EXPECT_TRUE(queue.post(*connection, {}, 0));
    std::string all;
    for (const auto& p : fabric.posted) {
      all += (p.operation == fabric::Operation::kWrite ? "W" : "S") + std::to_string(p.id) + ' ';
    }
    fabric.posted.clear();
    return all;
  }

  testing::FakeFabric fabric;
  std::unique_ptr<fabric::Connection> connection = fabric.connection();
  Replies replies;
  WorkQueue queue{64};
};

TEST_F(WorkQueueTest, WritesOfSeveralGoBeforeTheirSends) {
  EXPECT_EQ(post({1, 0, 2, 1}), "W0 W2 W2 W3 S0 S1 S2 S3 ");
  EXPECT_EQ(post({0, 0}), "S0 S1 ");
}

TEST_F(WorkQueueTest, ASendWaitsForNoMoreThanABatchOfOtherWrites) {
  replies.bytes.resize(1U << 20);
  EXPECT_EQ(post({1, 1, 1}), "W0 S0 W1 S1 W2 S2 ");
  EXPECT_EQ(post({3, 1}), "W0 W0 W0 S0 W1 S1 ");
  replies.bytes.resize(32U << 10);
  // Whether slot 1 has another Write is not known when the batch of Writes is full.
  EXPECT_EQ(post({1, 1, 1}), "W0 W1 S0 W2 S1 S2 ");
}

TEST_F(WorkQueueTest, ThatOrderIsPostedAtOnce) {
  replies.bytes.resize(1U << 20);
  EXPECT_EQ(post({1, 1, 1}), "W0 S0 W1 S1 W2 S2 ");
  EXPECT_THAT(fabric.send_posts, ::testing::ElementsAre(6));
  fabric.send_posts.clear();
  EXPECT_EQ(post(std::vector<unsigned>(20, 0)).size(), 20 * 3 + 10U);
  EXPECT_THAT(fabric.send_posts, ::testing::ElementsAre(16, 4));
}

TEST_F(WorkQueueTest, ASourceLearnsWhichOfItsCopiedRequestsWerePosted) {
  replies.copied = true;
  fabric.send_room = 3;
  EXPECT_EQ(post({1, 0, 0}), "W0 S0 S1 ");
  EXPECT_THAT(replies.reported, ::testing::ElementsAre(0, 1));
  fabric.send_room = SIZE_MAX;
  EXPECT_EQ(post(), "S2 ");
  EXPECT_THAT(replies.reported, ::testing::ElementsAre(0, 1, 2));
  replies.copied = false;
  EXPECT_EQ(post({0}), "S0 ");
  EXPECT_EQ(replies.reported.size(), 3U);
}

TEST_F(WorkQueueTest, TheOrderStaysIfThereIsNoRoomForAWhile) {
  fabric.send_room = 3;
  EXPECT_EQ(post({1, 1, 1, 1}), "W0 W1 W2 ");
  fabric.send_room = SIZE_MAX;
  EXPECT_EQ(post(), "W3 S0 S1 S2 S3 ");
}

TEST_F(WorkQueueTest, OneThatIsCancelledLeavesTheOthersInOrder) {
  fabric.send_room = 0;
  EXPECT_EQ(post(std::vector<unsigned>(20, 0)), "");
  EXPECT_TRUE(queue.cancel(replies, 18));
  EXPECT_TRUE(queue.cancel(replies, 1));
  EXPECT_FALSE(queue.cancel(replies, 1));
  fabric.send_room = SIZE_MAX;
  EXPECT_EQ(post(), "S0 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15 S16 S17 S19 ");
  EXPECT_EQ(post({1, 1}), "W0 W1 S0 S1 ");
}

}  // namespace
}  // namespace rpcrdma::protocol
