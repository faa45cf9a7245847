#include <gtest/gtest.h>

#include <rpcrdma/roce/by_connection.h>

namespace rpcrdma::roce {
namespace {

TEST(ByConnection, FindsWhatWasMade) {
  ByConnection<int> all;
  EXPECT_EQ(all.find(0), nullptr);
  EXPECT_EQ(all.find(UINT32_MAX), nullptr);
  all[70] = 7;
  EXPECT_EQ(*all.find(70), 7);
  EXPECT_EQ(all.find(69), nullptr);
  EXPECT_EQ(all.find(6), nullptr);
  EXPECT_EQ(all.size(), 1U);
}

TEST(ByConnection, StaysInPlaceWhileOthersComeAndGo) {
  ByConnection<int> all;
  int* const first = &all[5];
  for (std::uint32_t i = 6; i < 100000; ++i) {
    all[i] = 1;
    all.erase(i);
  }
  EXPECT_EQ(all.find(5), first);
  EXPECT_EQ(all.size(), 1U);
}

TEST(ByConnection, IsGoneWhenErased) {
  ByConnection<int> all;
  all[5] = 1;
  all[6] = 2;
  all.erase(5);
  all.erase(5);
  EXPECT_EQ(all.find(5), nullptr);
  EXPECT_EQ(*all.find(6), 2);
  all.erase(6);
  EXPECT_EQ(all[6], 0);
}

TEST(ByConnection, GoesThroughAllInOrder) {
  ByConnection<std::uint32_t> all;
  for (const std::uint32_t i : {500U, 3U, 64U, 63U}) all[i] = i;
  std::vector<std::uint32_t> seen;
  all.for_each([&](std::uint32_t v) { seen.push_back(v); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{3, 63, 64, 500}));
}

}  // namespace
}  // namespace rpcrdma::roce
