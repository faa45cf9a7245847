#include <gtest/gtest.h>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::base {
namespace {

TEST(ParseU32, DecimalAndHexadecimal) {
  EXPECT_EQ(parse_u32("17"), 17U);
  EXPECT_EQ(parse_u32("0xFFffFFff"), 0xffffffffU);
  for (const char* bad : {"", "0x", "-1", "4294967296", "12x", " 1"}) {
    EXPECT_FALSE(parse_u32(bad).has_value()) << bad;
  }
}

TEST(ParseSize, Units) {
  EXPECT_EQ(parse_size("1"), 1U);
  EXPECT_EQ(parse_size("64k"), 64000U);
  EXPECT_EQ(parse_size("64KB"), 64000U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("1.5M"), 1500000U);
  EXPECT_EQ(parse_size("2Gi"), 2147483648U);
  EXPECT_EQ(parse_size("1TiB"), 1099511627776U);
}

TEST(ParseSize, Refused) {
  for (const char* bad :
       {"", "0", "-1", "k", "0.5", "1e3", "1 k", "1kk", "1Z", "5000000T", "nan", "inf"}) {
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
  }
}

TEST(ParseDuration, Units) {
  EXPECT_EQ(parse_duration("2"), 2000000000);
  EXPECT_EQ(parse_duration("1.5s"), 1500000000);
  EXPECT_EQ(parse_duration("250ms"), 250000000);
  EXPECT_EQ(parse_duration("200us"), 200000);
  EXPECT_EQ(parse_duration("3ns"), 3);
  EXPECT_EQ(parse_duration("5m"), 300000000000);
  EXPECT_EQ(parse_duration("5min"), 300000000000);
  EXPECT_EQ(parse_duration("1h"), 3600000000000);
  EXPECT_EQ(parse_duration("1d"), 86400000000000);
}

TEST(ParseDuration, Refused) {
  for (const char* bad : {"", "0", "-1", "s", "1y", "1 h", "40000d", "nan"}) {
    EXPECT_FALSE(parse_duration(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace rpcrdma::base
