#include "slot.h"

#include <gtest/gtest.h>

namespace rpcrdma::verbs {
namespace {

using fabric::Operation;

fabric::Ring<SendWork> queue_of(std::initializer_list<SendWork> work) {
  fabric::Ring<SendWork> sends(UINT32_MAX);
  for (const SendWork& w : work) sends.push(w);
  return sends;
}

TEST(VerbsSends, ACompletionCoversAllWorkBeforeIt) {
  auto sends = queue_of({{1, Operation::kRead, false}, {2, Operation::kSend}, {3}});
  EXPECT_EQ(complete(sends, 1, false).id, 2U);
  EXPECT_EQ(sends.begin(), 2U);
}

TEST(VerbsSends, LateReadsStayUntilTheirOwnCompletion) {
  auto sends = queue_of(
      {{1, Operation::kSend}, {2, Operation::kRead}, {3, Operation::kWrite, false}, {4}, {5}});
  EXPECT_EQ(complete(sends, 3, true).id, 4U);
  EXPECT_EQ(sends.begin(), 1U);  // the Read
  EXPECT_FALSE(sends[3].news);   // not reported again if the connection ends now
  const SendWork read = complete(sends, 1, true);
  EXPECT_EQ(read.id, 2U);
  EXPECT_TRUE(read.news);
  EXPECT_EQ(sends.begin(), 4U);
  EXPECT_EQ(sends.size(), 1U);
}

TEST(VerbsSends, ALateReadCoversAllWorkBeforeIt) {
  auto sends = queue_of({{1, Operation::kRead}, {2}, {3, Operation::kRead}});
  EXPECT_EQ(complete(sends, 2, true).id, 3U);
  EXPECT_TRUE(sends.empty());
}

}  // namespace
}  // namespace rpcrdma::verbs
