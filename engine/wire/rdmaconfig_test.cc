#include "support/wire_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::wire {
namespace {

const std::vector<std::uint8_t> kBody = hex("00001000 00000400 00000010");

TEST(RdmaConfigTest, DecodesARequest) {
  const auto request = decode_rdmaconfig_request(kBody);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->maxcall_sendsize, 4096U);
  EXPECT_EQ(request->maxreply_sendsize, 1024U);
  EXPECT_EQ(request->maxrdmaread, 16U);
}

TEST(RdmaConfigTest, DecodesAReply) {
  const auto reply = decode_rdmaconfig_reply(kBody);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->maxcall_sendsize, 4096U);
  EXPECT_EQ(reply->align, 1024U);
  EXPECT_EQ(reply->maxrdmaread, 16U);
}

TEST(RdmaConfigTest, EncodesARequest) {
  std::vector<std::uint8_t> out(12);
  EXPECT_EQ(encode_rdmaconfig(RdmaConfigRequest{4096, 1024, 16}, out).value_or(0), 12U);
  EXPECT_EQ(out, kBody);
}

TEST(RdmaConfigTest, EncodesAReply) {
  std::vector<std::uint8_t> out(12);
  EXPECT_EQ(encode_rdmaconfig(RdmaConfigReply{4096, 1024, 16}, out).value_or(0), 12U);
  EXPECT_EQ(out, kBody);
}

TEST(RdmaConfigTest, RefusesAShortRequest) {
  expect_error(decode_rdmaconfig_request(hex("00001000 00000400 000000")), Errc::kTruncated, 8,
               "RFC 5666 6.2");
}

TEST(RdmaConfigTest, RefusesAShortReply) {
  expect_error(decode_rdmaconfig_reply(hex("00001000")), Errc::kTruncated, 4, "RFC 5666 6.2");
}

TEST(RdmaConfigTest, WritesNothingWhereThereIsNoSpace) {
  std::vector<std::uint8_t> out(11, 0xee);
  expect_error(encode_rdmaconfig(RdmaConfigRequest{}, out), Errc::kNoSpace, 11, "");
  expect_error(encode_rdmaconfig(RdmaConfigReply{}, out), Errc::kNoSpace, 11, "");
  EXPECT_EQ(out, std::vector<std::uint8_t>(11, 0xee));
}

}  // namespace
}  // namespace rpcrdma::wire
