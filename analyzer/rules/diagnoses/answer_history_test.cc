#include "answer_history.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

PastMessage message(std::uint32_t xid, std::uint8_t sender, std::uint64_t frame) {
  PastMessage m;
  m.xid = xid;
  m.sender = sender;
  m.frame = frame;
  return m;
}

TEST(AnswerHistory, GivesTheLatestWithTheXid) {
  AnswerHistory history;
  history.add(message(7, 0, 1));
  history.add(message(7, 0, 2));
  history.add(message(7, 1, 3));
  ASSERT_NE(history.find(0, 7), nullptr);
  EXPECT_EQ(history.find(0, 7)->frame, 2U);
  EXPECT_EQ(history.find(1, 7)->frame, 3U);
  EXPECT_EQ(history.find(0, 8), nullptr);
  EXPECT_EQ(history.find(0, 7, [](const PastMessage& m) { return m.frame == 1; })->frame, 1U);
}

TEST(AnswerHistory, ForgetsTheOldestAndGivesIt) {
  AnswerHistory history;
  for (std::uint32_t i = 1; i <= 64; ++i) EXPECT_EQ(history.add(message(i, 0, i)).frame, 0U);
  for (std::uint32_t i = 65; i <= 200; ++i) {
    EXPECT_EQ(history.add(message(i, 0, i)).frame, i - 64);
  }
  EXPECT_EQ(history.find(0, 136), nullptr);
  for (std::uint32_t i = 137; i <= 200; ++i) ASSERT_NE(history.find(0, i), nullptr) << i;
  // Still the latest first.
  history.add(message(150, 0, 999));
  EXPECT_EQ(history.find(0, 150)->frame, 999U);
}

}  // namespace
}  // namespace rpcrdma::rules
