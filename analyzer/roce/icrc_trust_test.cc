#include "icrc_trust.h"

#include <gtest/gtest.h>

namespace rpcrdma::roce {
namespace {

TEST(IcrcTrust, OneGoodIcrcMakesAnUnknownSenderTrusted) {
  IcrcTrust trust = IcrcTrust::unknown();
  EXPECT_FALSE(trust.checked());
  EXPECT_TRUE(trust.good());
  EXPECT_TRUE(trust.checked());
}

TEST(IcrcTrust, OneAnswerDecidesWhileNoPacketWasGood) {
  IcrcTrust trust = IcrcTrust::doubtful();
  EXPECT_TRUE(trust.checked());
  EXPECT_TRUE(trust.is_doubtful());
  EXPECT_TRUE(trust.answered());
  EXPECT_FALSE(trust.checked());
}

TEST(IcrcTrust, DamagedPacketsAmongGoodOnesChangeNothing) {
  IcrcTrust trust = IcrcTrust::trusted();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(trust.answered());
    EXPECT_FALSE(trust.good());
  }
  EXPECT_TRUE(trust.checked());
}

TEST(IcrcTrust, ARunOfAnswersEndsIt) {
  IcrcTrust trust = IcrcTrust::trusted();
  int answers = 1;
  while (!trust.answered()) ASSERT_LT(++answers, 20);
  EXPECT_GT(answers, 3);
  EXPECT_FALSE(trust.checked());
}

TEST(IcrcTrust, AFewGoodIcrcsAmongBadOnesDoNotRestoreIt) {
  IcrcTrust trust = IcrcTrust::doubtful();
  (void)trust.answered();
  for (int i = 0; i < 1000; ++i) {
    for (int bad = 0; bad < 4; ++bad) trust.accepted();
    EXPECT_FALSE(trust.good());
  }
  int good = 1;
  while (!trust.good()) ASSERT_LT(++good, 50);
  EXPECT_TRUE(trust.checked());
}

}  // namespace
}  // namespace rpcrdma::roce
