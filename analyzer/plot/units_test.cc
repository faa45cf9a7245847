#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::plot {
namespace {

TEST(Units, Counts) {
  EXPECT_EQ(format_value(Unit::kCount, 0), "0");
  EXPECT_EQ(format_value(Unit::kCount, 128), "128");
  EXPECT_EQ(format_value(Unit::kCount, 9999), "9999");
  EXPECT_EQ(format_value(Unit::kCount, 12345), "12.35 k");
  EXPECT_EQ(format_value(Unit::kCount, 999999), "1 M");
  EXPECT_EQ(format_value(Unit::kCount, 0.5), "0.5");
  EXPECT_EQ(format_value(Unit::kPerSecond, 3.4e6), "3.4 M/s");
}

TEST(Units, Times) {
  EXPECT_EQ(format_value(Unit::kSeconds, 0), "0 s");
  EXPECT_EQ(format_value(Unit::kSeconds, 873e-9), "873 ns");
  EXPECT_EQ(format_value(Unit::kSeconds, 18.2e-6), "18.2 us");
  EXPECT_EQ(format_value(Unit::kSeconds, 0.9999999), "1 s");
  EXPECT_EQ(format_value(Unit::kSeconds, 90), "1.5 min");
  EXPECT_EQ(format_value(Unit::kSeconds, 7200), "2 h");
  EXPECT_EQ(format_value(Unit::kSeconds, 3e-10), "0.3 ns");
}

TEST(Units, Bytes) {
  EXPECT_EQ(format_value(Unit::kBytes, 5003), "4.886 KiB");
  EXPECT_EQ(format_value(Unit::kBytes, 65536), "64 KiB");
  EXPECT_EQ(format_value(Unit::kBytesPerSecond, 1.5 * 1048576), "1.5 MiB/s");
}

TEST(Units, WhatIsNoNumber) {
  EXPECT_EQ(format_value(Unit::kCount, std::nan("")), "?");
  EXPECT_EQ(format_value(Unit::kSeconds, std::numeric_limits<double>::infinity()), "?");
  // The largest double has a short text too.
  EXPECT_LT(format_value(Unit::kBytes, std::numeric_limits<double>::max()).size(), 20U);
}

}  // namespace
}  // namespace rpcrdma::plot
