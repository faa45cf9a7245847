#include "parse.h"

#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(ParseU32, DecimalAndHexadecimal) {
  EXPECT_EQ(parse_u32("17"), 17U);
  EXPECT_EQ(parse_u32("0xFFffFFff"), 0xffffffffU);
  for (const char* bad : {"", "0x", "-1", "4294967296", "12x", " 1"}) {
    EXPECT_FALSE(parse_u32(bad).has_value()) << bad;
  }
}

TEST(ParseHex, Separators) {
  const Bytes wanted{0x01, 0xab, 0xff};
  for (const char* text : {"01abff", "01 AB ff", "01:ab:ff", "0x01,0xab,0xff", "01ab\nff\n"}) {
    EXPECT_EQ(parse_hex(text), wanted) << text;
  }
}

TEST(ParseHex, Dumps) {
  EXPECT_EQ(parse_hex("0000  01 ab ff   ...\n0010  02\n"), (Bytes{0x01, 0xab, 0xff, 0x02}));
  EXPECT_EQ(parse_hex("00000000: 01ab ff\n"), (Bytes{0x01, 0xab, 0xff}));
}

TEST(ParseHex, Refused) {
  for (const char* bad : {"0", "abc", "0g", "01 a b", "hello"}) {
    EXPECT_FALSE(parse_hex(bad).has_value()) << bad;
  }
}

TEST(ParseMoment, RelativeAndAbsolute) {
  const auto relative = parse_moment("1.5");
  ASSERT_TRUE(relative);
  EXPECT_TRUE(relative->relative);
  EXPECT_EQ(relative->absolute(1000), 1500001000);
  const auto epoch = parse_moment("1700000000.25");
  ASSERT_TRUE(epoch);
  EXPECT_FALSE(epoch->relative);
  EXPECT_EQ(epoch->ns, 1700000000250000000);
  const auto date = parse_moment("2023-11-14 22:13:20.25");
  ASSERT_TRUE(date);
  EXPECT_EQ(date->ns, 1700000000250000000);
  EXPECT_EQ(parse_moment("2023-11-14T22:13:20Z")->ns, 1700000000000000000);
}

TEST(ParseMoment, Refused) {
  for (const char* bad : {"", "soon", "-1", "1e300", "nan", "2023-11-14", "2023-11-14 22:13:20x"}) {
    EXPECT_FALSE(parse_moment(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace rpcrdma::cli
