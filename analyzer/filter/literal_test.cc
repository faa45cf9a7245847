#include "literal.h"

#include <gtest/gtest.h>

namespace rpcrdma::filter {
namespace {

TEST(Literal, Integers) {
  EXPECT_EQ(parse_integer("42")->magnitude, 42U);
  EXPECT_EQ(parse_integer("0x1F")->magnitude, 31U);
  EXPECT_EQ(parse_integer("18446744073709551615")->magnitude, UINT64_MAX);
  EXPECT_TRUE(parse_integer("-1")->negative);
  for (const char* bad :
       {"", "-", "0x", "18446744073709551616", "1.5", "5x", "+1", "--1", "0x-1"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(Literal, Durations) {
  EXPECT_EQ(parse_duration("1.5ms"), 1'500'000);
  EXPECT_EQ(parse_duration("2"), 2'000'000'000);
  EXPECT_EQ(parse_duration("0.000000001"), 1);
  EXPECT_EQ(parse_duration("-3us"), -3000);
  EXPECT_EQ(parse_duration("7ns"), 7);
  EXPECT_EQ(parse_duration("1.5min"), 90'000'000'000);
  EXPECT_EQ(parse_duration("2m"), 120'000'000'000);
  EXPECT_EQ(parse_duration("1h"), 3'600'000'000'000);
  EXPECT_EQ(parse_duration("1.9999999999s"), 1'999'999'999);
  for (const char* bad : {"", "ms", "1.ms", ".5s", "1.2.3", "5 ms", "1parsec", "99999999999999h",
                          "9223372036854775807us", "--1", "1e3"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Literal, Times) {
  constexpr std::int64_t kThen = 1'700'000'000'000'000'000;
  EXPECT_EQ(parse_time("2023-11-14 22:13:20"), kThen);
  EXPECT_EQ(parse_time("2023-11-14T22:13:20.25Z"), kThen + 250'000'000);
  EXPECT_EQ(parse_time("2023-11-14 22:13"), kThen - 20'000'000'000);
  EXPECT_EQ(parse_time("1970-01-01"), 0);
  EXPECT_EQ(parse_time("1700000000.5"), kThen + 500'000'000);
  EXPECT_LT(parse_time("1678-01-01"), 0);
  EXPECT_GT(parse_time("2261-12-31 23:59:60"), kThen);
  for (const char* bad :
       {"", "soon", "2023-02-30", "2023-13-01", "2023-11-14 24:00:00", "2023-11-14 22:13:20x",
        "2023-11-14 22", "2023-1-1", "1500-01-01", "2300-01-01", "2023-11-14 22:13:20."}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

TEST(Literal, Addresses) {
  EXPECT_EQ(parse_address("10.0.0.1")->low, bytes({10, 0, 0, 1}));
  EXPECT_EQ(parse_address("10.0.0.1")->high, bytes({10, 0, 0, 1}));
  EXPECT_EQ(parse_address("10.1.255.3/15")->low, bytes({10, 0, 0, 0}));
  EXPECT_EQ(parse_address("10.1.255.3/15")->high, bytes({10, 1, 255, 255}));
  EXPECT_EQ(parse_address("0.0.0.0/0")->high, bytes({255, 255, 255, 255}));
  EXPECT_EQ(parse_address("fe80::1")->low.size(), 16U);
  EXPECT_EQ(parse_address("fe80::/10")->high.substr(0, 2), bytes({0xfe, 0xbf}));
  EXPECT_EQ(parse_address("lid 258")->low, bytes({1, 2}));
  for (const char* bad : {"", "10.0.0", "10.0.0.1/33", "fe80::/129", "10.0.0.1/", "host", "lid x",
                          "lid 65536", "10.0.0.1/-1"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST(Literal, Bytes) {
  EXPECT_EQ(parse_bytes("00:01:ff"), bytes({0, 1, 255}));
  EXPECT_EQ(parse_bytes("00-01-FF"), bytes({0, 1, 255}));
  EXPECT_EQ(parse_bytes("0001ff"), bytes({0, 1, 255}));
  for (const char* bad : {"", "0", "001", ":00", "00:", "00::01", "xx", "0:1"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

}  // namespace
}  // namespace rpcrdma::filter
