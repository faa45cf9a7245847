#include "parse.h"

#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(LowerCase, OfAsciiLettersAlone) {
  EXPECT_EQ(lower_case("RDMA_MSG @[`{ az"), "rdma_msg @[`{ az");
  EXPECT_EQ(lower_case("\xc3\x84"), "\xc3\x84");
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
  EXPECT_EQ(parse_hex("00000000: 0161 ff          .a.\n"), (Bytes{0x01, 0x61, 0xff}));
  EXPECT_EQ(parse_hex("\t0x0000:  0161 ff62            .a.b\n"), (Bytes{0x01, 0x61, 0xff, 0x62}));
  EXPECT_EQ(parse_hex("00000000  01 61  ff 62   |.a.b|\n00000004\n"),
            (Bytes{0x01, 0x61, 0xff, 0x62}));
  EXPECT_EQ(parse_hex("000000 01 61 ff 62  >.a.b<\n000004\n"), (Bytes{0x01, 0x61, 0xff, 0x62}));
  // Words, without an offset before them.
  EXPECT_EQ(parse_hex("00000001  00000002"), (Bytes{0, 0, 0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(parse_hex("00000000"), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(parse_hex("00000001\n00000004\n"), (Bytes{0, 0, 0, 1, 0, 0, 0, 4}));
  // Two halves of a line, and the text after them.
  EXPECT_EQ(parse_hex("0000: 01 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f 10  ab cdef.........."),
            (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
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

TEST(ParseMoment, TimesOfDayAndZones) {
  constexpr std::int64_t kStart = 1700000000000000000;  // 2023-11-14 22:13:20
  const auto at = [](const char* text) { return parse_moment(text)->absolute(kStart) - kStart; };
  EXPECT_EQ(at("22:13:20"), 0);
  EXPECT_EQ(at("22:13:21.5"), 1500000000);
  EXPECT_EQ(at("22:14"), 40000000000);
  EXPECT_EQ(at("22:13:10"), -10000000000);   // before the capture began
  EXPECT_EQ(at("00:13:20"), 7200000000000);  // after midnight
  EXPECT_EQ(at("23:13:20+01:00"), 0);
  EXPECT_EQ(at("00:13:20+02:00"), 0);
  EXPECT_EQ(at("2023-11-14 22:13"), -20000000000);
  EXPECT_EQ(at("2023-11-14T17:13:20-05:00"), 0);
  EXPECT_EQ(at("2023-11-14 22:13:20Z"), 0);
  for (const char* bad :
       {"25:00", "12:60", "12", "12:00+", "12:00+1", "12:00:00x", "2023-11-14 "}) {
    const auto m = parse_moment(bad);
    EXPECT_TRUE(!m || m->relative) << bad;
  }
}

TEST(ParseMoment, Refused) {
  for (const char* bad : {"", "soon", "-1", "1e300", "nan", "2023-11-14", "2023-11-14 22:13:20x"}) {
    EXPECT_FALSE(parse_moment(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace rpcrdma::cli
