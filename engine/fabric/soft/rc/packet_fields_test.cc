#include "packet_fields.h"

#include <gtest/gtest.h>

namespace rpcrdma::soft {
namespace {

TEST(CreditCode, PromisesNoMoreThanThereAre) {
  EXPECT_EQ(credit_code(0), 0);
  EXPECT_EQ(credit_code(4), 4);
  EXPECT_EQ(credit_code(5), 4);
  EXPECT_EQ(credit_code(6), 5);
  EXPECT_EQ(credit_code(7), 5);
  EXPECT_EQ(credit_code(16), 8);
  EXPECT_EQ(credit_code(32767), 29);
  EXPECT_EQ(credit_code(32768), 30);
  EXPECT_EQ(credit_code(~std::uint64_t{0}), 30);
  for (std::uint64_t n = 0; n < 40000; ++n) {
    const std::uint8_t code = credit_code(n);
    ASSERT_LE(kCredits[code], n);
    ASSERT_TRUE(code == 30 || kCredits[code + 1U] > n);
  }
}

}  // namespace
}  // namespace rpcrdma::soft
