// Bodies of RPCSEC_GSS, derived from RFC 2203 section 5.3.
#include "upper_for_tests.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

Wrapping of(std::uint32_t gss_proc, std::uint32_t service) {
  const wire::GssCred cred{1, gss_proc, 7, service, {}};
  std::array<std::uint8_t, 64> body;
  const auto length = wire::encode_gss_cred(cred, body);
  EXPECT_TRUE(length);
  return wrapping_of({6, wire::Bytes(body).first(*length)});
}

TEST(WrappingOf, IsByTheServiceOfTheCredential) {
  EXPECT_EQ(wrapping_of({1, {}}), Wrapping::kNone);  // AUTH_SYS
  EXPECT_EQ(of(0, 1), Wrapping::kNone);
  EXPECT_EQ(of(0, 2), Wrapping::kIntegrity);
  EXPECT_EQ(of(0, 3), Wrapping::kPrivacy);
  EXPECT_EQ(of(0, 4), Wrapping::kUnknown);
  EXPECT_EQ(of(1, 2), Wrapping::kControl);              // INIT
  EXPECT_EQ(of(3, 3), Wrapping::kControl);              // DESTROY
  EXPECT_EQ(wrapping_of({6, {}}), Wrapping::kUnknown);  // no credential after the flavor
}

TEST(WrappingOfReply, WithoutItsCallIsByTheVerifier) {
  wire::RpcReply gss, none;
  gss.verf.flavor = 6;
  EXPECT_EQ(wrapping_of_reply(Wrapping::kUnknown, none), Wrapping::kNone);
  EXPECT_EQ(wrapping_of_reply(Wrapping::kUnknown, gss), Wrapping::kUnknown);
  EXPECT_EQ(wrapping_of_reply(Wrapping::kNone, gss), Wrapping::kNone);
  EXPECT_EQ(wrapping_of_reply(Wrapping::kPrivacy, gss), Wrapping::kPrivacy);
}

TEST(GssService, IsTheNumberOfTheCredential) {
  for (std::uint32_t service = 1; service <= 3; ++service) {
    EXPECT_EQ(gss_service(of(0, service)), service);
  }
  EXPECT_FALSE(gss_service(Wrapping::kControl));
  EXPECT_FALSE(gss_service(Wrapping::kUnknown));
}

TEST(Unwrap, IntegrityLeavesLengthSequenceAndChecksumOut) {
  // Eight bytes: seq_num and a status of 70; then a checksum.
  const auto body = stream("8 5 46 1c *28");
  const auto inside = unwrap(Wrapping::kIntegrity, body);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->offset, 8U);
  EXPECT_EQ(inside->bytes.size(), 4U);
  EXPECT_EQ(inside->bytes[3], 70);
}

TEST(Unwrap, IntegrityCutShortGivesItsFront) {
  const auto body = stream("100 5 46");
  const auto inside = unwrap(Wrapping::kIntegrity, body);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->bytes.size(), 4U);
}

TEST(Unwrap, NothingThatCannotBeRead) {
  const auto body = stream("8 5 46 1c *28");
  EXPECT_FALSE(unwrap(Wrapping::kPrivacy, body));
  EXPECT_FALSE(unwrap(Wrapping::kControl, body));
  EXPECT_FALSE(unwrap(Wrapping::kUnknown, body));
  EXPECT_FALSE(unwrap(Wrapping::kIntegrity, wire::Bytes(body).first(7)));
  EXPECT_FALSE(unwrap(Wrapping::kIntegrity, stream("3 5 46")));  // no room for seq_num
  EXPECT_EQ(unwrap(Wrapping::kNone, body)->bytes.size(), body.size());
}

}  // namespace
}  // namespace rpcrdma::decode
