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
