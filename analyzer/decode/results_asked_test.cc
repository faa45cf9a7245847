#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

TEST(ResultsAsked, Nfs2) {
  EXPECT_EQ(results_asked({kProgNfs, 2, 6}, stream("*32 2000 1000 0"), {}), 0x1000U);
  EXPECT_EQ(results_asked({kProgNfs, 2, 16}, stream("*32 0 800"), {}), 0x800U);
}

TEST(ResultsAsked, Nfs3) {
  EXPECT_EQ(results_asked({kProgNfs, 3, 6}, stream("14 *20 1 2000 1000"), {}), 0x1000U);
  EXPECT_EQ(results_asked({kProgNfs, 3, 16}, stream("14 *20 0 0 *8 2000"), {}), 0x2000U);
  // dircount, maxcount
  EXPECT_EQ(results_asked({kProgNfs, 3, 17}, stream("14 *20 0 0 *8 1000 8000"), {}), 0x8000U);
}

TEST(ResultsAsked, OfACompoundAllItsOperations) {
  EXPECT_EQ(results_asked(kCompound, stream("0 1 2 16 5 *8 19 *16 1 2000 1000"), {}), 0x1000U);
  // READDIR: cookie, cookieverf, dircount, maxcount, bitmap
  EXPECT_EQ(results_asked(kCompound, stream("0 1 1 1a *8 *8 100 8000 0"), {}), 0x8000U);
  EXPECT_EQ(results_asked(kCompound, stream("0 1 2 19 *16 0 0 1000 19 *16 0 1000 2000"), {}),
            0x3000U);
}

TEST(ResultsAsked, NothingWhereItIsNotKnown) {
  EXPECT_FALSE(results_asked({kProgNfs, 3, 1}, stream("14 *20"), {}));         // GETATTR
  EXPECT_FALSE(results_asked({kProgNfs, 3, 6}, stream("14 *20 1 2000"), {}));  // truncated
  EXPECT_FALSE(results_asked({kProgMount, 3, 6}, stream("14 *20 1 2000 1000"), {}));
  EXPECT_FALSE(results_asked(kCompound, stream("0 1 1 16 5 *8"), {}));
}

}  // namespace
}  // namespace rpcrdma::decode
