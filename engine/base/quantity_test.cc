#include <cstdio>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/base/quantity.h>

namespace rpcrdma::base {
namespace {

TEST(Quantity, Durations) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(873), "873 ns");
  EXPECT_EQ(format_duration(1000), "1 us");
  EXPECT_EQ(format_duration(18240), "18.2 us");
  EXPECT_EQ(format_duration(999900), "1000 us");
  EXPECT_EQ(format_duration(1870000), "1.87 ms");
  EXPECT_EQ(format_duration(2050000000), "2.050 s");
  EXPECT_EQ(format_duration(-1), "-");
}

// What printf makes of the same number: the sum of all is as long as the printed one.
std::string printed(std::int64_t ns) {
  char text[64];
  const auto v = static_cast<double>(ns);
  if (ns >= 1000000000) {
    std::snprintf(text, sizeof text, "%.3f s", v / 1e9);
    return text;
  }
  const double value = ns < 1000000 ? v / 1e3 : v / 1e6;
  std::snprintf(text, sizeof text, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
  std::string s = text;
  if (s.find('.') != std::string::npos) {
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
  }
  return s + (ns < 1000000 ? " us" : " ms");
}

TEST(Quantity, DurationsAreRoundedLikeFloatingPointNumbers) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    std::int64_t ns = static_cast<std::int64_t>(random() >> (1 + random() % 53)) + 1000;
    EXPECT_EQ(format_duration(ns), printed(ns));
    // Many of these lie exactly between two results.
    ns -= ns % (ns < 10000000 ? 5 : 5000);
    EXPECT_EQ(format_duration(ns), printed(ns));
  }
  EXPECT_EQ(format_duration(INT64_MAX), printed(INT64_MAX));
}

TEST(Quantity, Bytes) {
  EXPECT_EQ(format_bytes(5003), "5003 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1000000), "976.6 KiB");
  EXPECT_EQ(format_bytes((10U << 20) - 1), "10240 KiB");
  EXPECT_EQ(format_bytes(15U << 20), "15 MiB");
  EXPECT_EQ(format_bytes(1ULL << 40), "1024 GiB");
}

}  // namespace
}  // namespace rpcrdma::base
