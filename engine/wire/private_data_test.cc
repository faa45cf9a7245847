#include "support/wire_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::wire {
namespace {

TEST(PrivateDataTest, DecodesWhatALinuxClientSends) {
  const auto data = decode_private_data(hex("f6ab0e18 01 01 03 03"));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->version, 1);
  EXPECT_TRUE(data->remote_invalidation());
  EXPECT_EQ(data->send_size(), 4096U);
  EXPECT_EQ(data->recv_size(), 4096U);
}

TEST(PrivateDataTest, KeepsTheSizesApart) {
  const auto data = decode_private_data(hex("f6ab0e18 01 00 00 ff"));
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->remote_invalidation());
  EXPECT_EQ(data->send_size(), 1024U);
  EXPECT_EQ(data->recv_size(), 262144U);
}

TEST(PrivateDataTest, KeepsReservedFlagsForWhoeverChecksThem) {
  const auto data = decode_private_data(hex("f6ab0e18 01 fe 00 00"));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->flags, 0xfe);
  EXPECT_FALSE(data->remote_invalidation());
}

TEST(PrivateDataTest, LeavesWhatFollowsAlone) {
  const auto data = decode_private_data(hex("f6ab0e18 01 00 03 07 00000000 00"));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->recv_size(), 8192U);
}

TEST(PrivateDataTest, Encodes) {
  const auto bytes = encode_private_data({1, kPrivateDataFlagR, 3, 7});
  EXPECT_EQ(std::vector<std::uint8_t>(bytes.begin(), bytes.end()), hex("f6ab0e18 01 01 03 07"));
}

TEST(PrivateDataTest, RefusesAnotherMagic) {
  expect_error(decode_private_data(hex("180eabf6 01 00 03 03")), Errc::kBadValue, 0, "CMP-01");
}

TEST(PrivateDataTest, RefusesAnotherVersion) {
  expect_error(decode_private_data(hex("f6ab0e18 02 00 03 03")), Errc::kUnsupported, 4, "CMP-02");
}

TEST(PrivateDataTest, RefusesSevenBytes) {
  expect_error(decode_private_data(hex("f6ab0e18 01 00 03")), Errc::kTruncated, 7, "CMP-02");
}

TEST(PrivateDataTest, RefusesHalfAMagic) {
  expect_error(decode_private_data(hex("f6ab")), Errc::kTruncated, 0, "CMP-02");
}

TEST(PrivateDataTest, RefusesNone) {
  expect_error(decode_private_data({}), Errc::kTruncated, 0, "CMP-02");
}

TEST(InlineSizeCodeTest, IsKibibytesLessOne) {
  EXPECT_EQ(inline_size_code(1024), 0);
  EXPECT_EQ(inline_size_code(4096), 3);
  EXPECT_EQ(inline_size_code(262144), 255);
}

TEST(InlineSizeCodeTest, RoundsDown) {
  EXPECT_EQ(inline_size_code(4095), 2);
  EXPECT_EQ(inline_size_code(5119), 3);
}

TEST(InlineSizeCodeTest, StaysWithinItsRange) {
  EXPECT_EQ(inline_size_code(0), 0);
  EXPECT_EQ(inline_size_code(1023), 0);
  EXPECT_EQ(inline_size_code(UINT32_MAX), 255);
}

}  // namespace
}  // namespace rpcrdma::wire
