#include <gtest/gtest.h>

#include <rpcrdma/fabric/ring.h>

namespace rpcrdma::fabric {
namespace {

TEST(Ring, ElementsKeepTheirNumberWhileItGrows) {
  Ring<int> r(100);
  EXPECT_TRUE(r.empty());
  for (int i = 0; i < 3; ++i) r.push(i);
  r.pop();
  r.pop();
  for (int i = 3; i < 100; ++i) r.push(i);
  EXPECT_EQ(r.begin(), 2U);
  EXPECT_EQ(r.end(), 100U);
  for (std::uint64_t n = r.begin(); n != r.end(); ++n) EXPECT_EQ(r[n], static_cast<int>(n));
  EXPECT_EQ(r.front(), 2);
  EXPECT_EQ(r.back(), 99);
}

TEST(Ring, IsFullAtItsLimit) {
  Ring<int> r(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(r.full());
    r.push(i);
  }
  EXPECT_TRUE(r.full());
  r.pop();
  EXPECT_FALSE(r.full());
  r.push(3);
  r.set_limit(5);
  EXPECT_FALSE(r.full());
  r.pop_back();
  EXPECT_EQ(r.back(), 2);
  EXPECT_EQ(r.size(), 2U);
  r.clear();
  EXPECT_TRUE(r.empty());
  r.push(7);
  EXPECT_EQ(r.front(), 7);
  EXPECT_TRUE(Ring<int>(0).full());
}

}  // namespace
}  // namespace rpcrdma::fabric
