// RPC Call and Reply headers, against bytes derived by hand from RFC 5531.
#include "support/wire_bytes.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::wire {
namespace {

template <typename Message>
std::vector<std::uint8_t> encoded(const Message& message) {
  std::vector<std::uint8_t> out(encoded_size(message));
  EXPECT_EQ(encode_rpc(message, out).value_or(0), out.size());
  return out;
}

std::string text(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

// ---- Calls

const std::vector<std::uint8_t> kCall =
    hex("11223344 00000000 00000002"          // xid, CALL, rpcvers
        "000186a3 00000003 00000007"          // NFS, version 3, WRITE
        "00000001 00000005 6162636465000000"  // AUTH_SYS, 5 bytes
        "00000000 00000000");                 // AUTH_NONE

TEST(RpcCallTest, Decodes) {
  const auto view = decode_rpc(kCall);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->type, MsgType::kCall);
  EXPECT_EQ(view->call.xid, 0x11223344U);
  EXPECT_EQ(view->call.rpcvers, 2U);
  EXPECT_EQ(view->call.prog, 100003U);
  EXPECT_EQ(view->call.vers, 3U);
  EXPECT_EQ(view->call.proc, 7U);
  EXPECT_EQ(view->call.cred.flavor, 1U);
  EXPECT_EQ(text(view->call.cred.body), "abcde");
  EXPECT_EQ(view->call.verf.flavor, 0U);
  EXPECT_TRUE(view->call.verf.body.empty());
  EXPECT_EQ(view->length, 48U);
}

TEST(RpcCallTest, Encodes) {
  const auto body = hex("6162636465");
  const RpcCall call{0x11223344, 2, 100003, 3, 7, {1, body}, {0, {}}};
  EXPECT_EQ(encoded(call), kCall);
}

TEST(RpcCallTest, LeavesTheArgumentsAlone) {
  auto bytes = kCall;
  bytes.push_back(0xff);
  const auto view = decode_rpc(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->length, 48U);
}

TEST(RpcCallTest, DecodesAnotherRpcVersion) {
  const auto view = decode_rpc(hex(
      "11223344 00000000 00000003 00000001 00000001 00000000 00000000 00000000 00000000 00000000"));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->call.rpcvers, 3U);
}

TEST(RpcCallTest, EveryTruncationIsTruncated) {
  for (std::size_t size = 0; size < kCall.size(); ++size) {
    const std::vector<std::uint8_t> shorter(kCall.begin(),
                                            kCall.begin() + static_cast<std::ptrdiff_t>(size));
    const auto view = decode_rpc(shorter);
    ASSERT_FALSE(view) << size;
    EXPECT_EQ(view.error().code, Errc::kTruncated);
    EXPECT_LE(view.error().offset, size);
  }
}

TEST(RpcCallTest, PointsAtTheItemThatIsNotWhole) {
  expect_error(decode_rpc(hex("11223344 00000000 0000")), Errc::kTruncated, 8, "RFC 5531 9");
}

std::vector<std::uint8_t> call_with_cred_of(std::uint32_t length) {
  auto bytes = hex("11223344 00000000 00000002 000186a3 00000003 00000007 00000001 00000000");
  store_be32(bytes.data() + 28, length);
  bytes.resize(bytes.size() + 1024);
  return bytes;
}

TEST(RpcCallTest, AcceptsACredentialOf400Bytes) {
  const auto bytes = call_with_cred_of(400);
  const auto view = decode_rpc(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->call.cred.body.size(), 400U);
}

TEST(RpcCallTest, RefusesACredentialOf401Bytes) {
  expect_error(decode_rpc(call_with_cred_of(401)), Errc::kTooLong, 28, "RFC 5531 8.2");
}

TEST(RpcCallTest, RefusesACredentialLengthOfAllOnes) {
  expect_error(decode_rpc(call_with_cred_of(UINT32_MAX)), Errc::kTooLong, 28, "RFC 5531 8.2");
}

TEST(RpcCallTest, RefusesAVerifierOf401Bytes) {
  auto bytes = hex(
      "11223344 00000000 00000002 000186a3 00000003 00000007 00000000 00000000 00000000 00000191");
  bytes.resize(bytes.size() + 1024);
  expect_error(decode_rpc(bytes), Errc::kTooLong, 36, "RFC 5531 8.2");
}

TEST(RpcTest, RefusesAnUnknownMsgType) {
  expect_error(decode_rpc(hex("11223344 00000002 00000002")), Errc::kBadValue, 4, "RFC 5531 9");
}

// ---- Replies, every branch

RpcReply accepted(AcceptStat stat) {
  RpcReply reply;
  reply.xid = 0x11223344;
  reply.accept = stat;
  return reply;
}

RpcReply denied(RejectStat stat) {
  RpcReply reply;
  reply.xid = 0x11223344;
  reply.stat = ReplyStat::kDenied;
  reply.reject = stat;
  return reply;
}

TEST(RpcReplyTest, DecodesAVerifier) {
  const auto bytes = hex("11223344 00000001 00000000 00000006 00000003 61626300 00000000");
  const auto view = decode_rpc(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->type, MsgType::kReply);
  EXPECT_EQ(view->reply.xid, 0x11223344U);
  EXPECT_EQ(view->reply.verf.flavor, 6U);
  EXPECT_EQ(text(view->reply.verf.body), "abc");
  EXPECT_EQ(view->length, 28U);
}

TEST(RpcReplyTest, EncodesAVerifier) {
  const auto body = hex("616263");
  RpcReply reply = accepted(AcceptStat::kSuccess);
  reply.verf = {6, body};
  EXPECT_EQ(encoded(reply), hex("11223344 00000001 00000000 00000006 00000003 61626300 00000000"));
}

struct PlainArm {
  AcceptStat stat;
  const char* word;
};

void PrintTo(const PlainArm& p, std::ostream* out) {
  *out << p.word;
}

class RpcAcceptedTest : public ::testing::TestWithParam<PlainArm> {};

TEST_P(RpcAcceptedTest, IsTheStatAloneBothWays) {
  const auto bytes =
      hex(std::string("11223344 00000001 00000000 00000000 00000000") + GetParam().word);
  const auto view = decode_rpc(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->reply.stat, ReplyStat::kAccepted);
  EXPECT_EQ(view->reply.accept, GetParam().stat);
  EXPECT_EQ(view->length, 24U);
  EXPECT_EQ(encoded(accepted(GetParam().stat)), bytes);
}

INSTANTIATE_TEST_SUITE_P(All, RpcAcceptedTest,
                         ::testing::Values(PlainArm{AcceptStat::kSuccess, "00000000"},
                                           PlainArm{AcceptStat::kProgUnavail, "00000001"},
                                           PlainArm{AcceptStat::kProcUnavail, "00000003"},
                                           PlainArm{AcceptStat::kGarbageArgs, "00000004"},
                                           PlainArm{AcceptStat::kSystemErr, "00000005"}));

const std::vector<std::uint8_t> kProgMismatch =
    hex("11223344 00000001 00000000 00000000 00000000 00000002 00000003 00000004");

TEST(RpcReplyTest, DecodesProgMismatch) {
  const auto view = decode_rpc(kProgMismatch);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->reply.accept, AcceptStat::kProgMismatch);
  EXPECT_EQ(view->reply.low, 3U);
  EXPECT_EQ(view->reply.high, 4U);
  EXPECT_EQ(view->length, 32U);
}

TEST(RpcReplyTest, EncodesProgMismatch) {
  RpcReply reply = accepted(AcceptStat::kProgMismatch);
  reply.low = 3;
  reply.high = 4;
  EXPECT_EQ(encoded(reply), kProgMismatch);
}

const std::vector<std::uint8_t> kRpcMismatch =
    hex("11223344 00000001 00000001 00000000 00000002 00000005");

TEST(RpcReplyTest, DecodesRpcMismatch) {
  const auto view = decode_rpc(kRpcMismatch);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->reply.stat, ReplyStat::kDenied);
  EXPECT_EQ(view->reply.reject, RejectStat::kRpcMismatch);
  EXPECT_EQ(view->reply.low, 2U);
  EXPECT_EQ(view->reply.high, 5U);
  EXPECT_EQ(view->length, 24U);
}

TEST(RpcReplyTest, EncodesRpcMismatch) {
  RpcReply reply = denied(RejectStat::kRpcMismatch);
  reply.low = 2;
  reply.high = 5;
  EXPECT_EQ(encoded(reply), kRpcMismatch);
}

const std::vector<std::uint8_t> kAuthError = hex("11223344 00000001 00000001 00000001 0000000d");

TEST(RpcReplyTest, DecodesAuthError) {
  const auto view = decode_rpc(kAuthError);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->reply.reject, RejectStat::kAuthError);
  EXPECT_EQ(view->reply.auth_stat, 13U);
  EXPECT_EQ(view->length, 20U);
}

TEST(RpcReplyTest, EncodesAuthError) {
  RpcReply reply = denied(RejectStat::kAuthError);
  reply.auth_stat = 13;
  EXPECT_EQ(encoded(reply), kAuthError);
}

TEST(RpcReplyTest, EveryTruncationOfEveryArmIsTruncated) {
  for (const auto& whole : {kProgMismatch, kRpcMismatch, kAuthError}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::uint8_t> shorter(whole.begin(),
                                              whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto view = decode_rpc(shorter);
      ASSERT_FALSE(view) << size;
      EXPECT_EQ(view.error().code, Errc::kTruncated);
    }
  }
}

TEST(RpcReplyTest, RefusesAnUnknownReplyStat) {
  expect_error(decode_rpc(hex("11223344 00000001 00000002")), Errc::kBadValue, 8, "RFC 5531 9");
}

TEST(RpcReplyTest, RefusesAnUnknownAcceptStat) {
  expect_error(decode_rpc(hex("11223344 00000001 00000000 00000000 00000004 61626364 00000006")),
               Errc::kBadValue, 24, "RFC 5531 9");
}

TEST(RpcReplyTest, RefusesAnUnknownRejectStat) {
  expect_error(decode_rpc(hex("11223344 00000001 00000001 00000002")), Errc::kBadValue, 12,
               "RFC 5531 9");
}

TEST(RpcReplyTest, RefusesAVerifierOver400Bytes) {
  expect_error(decode_rpc(hex("11223344 00000001 00000000 00000000 ffffffff")), Errc::kTooLong, 16,
               "RFC 5531 8.2");
}

// ---- messages that the encoder rejects

TEST(EncodeRpcTest, WritesNothingWhereTheHeaderDoesNotFit) {
  std::vector<std::uint8_t> out(23, 0xee);
  expect_error(encode_rpc(accepted(AcceptStat::kSuccess), out), Errc::kNoSpace, 23, "");
  EXPECT_EQ(out, std::vector<std::uint8_t>(23, 0xee));
}

TEST(EncodeRpcTest, RefusesACredentialOver400Bytes) {
  const std::vector<std::uint8_t> body(401);
  std::vector<std::uint8_t> out(2048);
  RpcCall call;
  call.cred.body = body;
  expect_error(encode_rpc(call, out), Errc::kTooLong, 0, "RFC 5531 8.2");
}

TEST(EncodeRpcTest, RefusesAVerifierOver400Bytes) {
  const std::vector<std::uint8_t> body(401);
  std::vector<std::uint8_t> out(2048);
  RpcCall call;
  call.verf.body = body;
  expect_error(encode_rpc(call, out), Errc::kTooLong, 0, "RFC 5531 8.2");
  RpcReply reply;
  reply.verf.body = body;
  expect_error(encode_rpc(reply, out), Errc::kTooLong, 0, "RFC 5531 8.2");
}

TEST(EncodeRpcTest, WritesACredentialAndVerifiersOf400Bytes) {
  const std::vector<std::uint8_t> body(400, 0x61);
  std::vector<std::uint8_t> out(2048);
  RpcCall call;
  call.cred.body = body;
  call.verf.body = body;
  EXPECT_EQ(encode_rpc(call, out), 40U + 800U);
  RpcReply reply;
  reply.verf.body = body;
  EXPECT_EQ(encode_rpc(reply, out), 24U + 400U);
}

TEST(EncodeRpcTest, RefusesStatusesThatDoNotExist) {
  std::vector<std::uint8_t> out(64);
  expect_error(encode_rpc(accepted(static_cast<AcceptStat>(6)), out), Errc::kBadValue, 8,
               "RFC 5531 9");
  expect_error(encode_rpc(denied(static_cast<RejectStat>(2)), out), Errc::kBadValue, 8,
               "RFC 5531 9");
  RpcReply reply;
  reply.stat = static_cast<ReplyStat>(2);
  expect_error(encode_rpc(reply, out), Errc::kBadValue, 8, "RFC 5531 9");
}

// ---- names

TEST(RpcNamesTest, AreThoseOfTheSpecifications) {
  EXPECT_STREQ(auth_flavor_name(0), "AUTH_NONE");
  EXPECT_STREQ(auth_flavor_name(1), "AUTH_SYS");
  EXPECT_STREQ(auth_flavor_name(2), "AUTH_SHORT");
  EXPECT_STREQ(auth_flavor_name(3), "AUTH_DH");
  EXPECT_STREQ(auth_flavor_name(6), "RPCSEC_GSS");
  EXPECT_STREQ(auth_flavor_name(7), "AUTH_TLS");
  EXPECT_STREQ(accept_stat_name(0), "SUCCESS");
  EXPECT_STREQ(accept_stat_name(2), "PROG_MISMATCH");
  EXPECT_STREQ(accept_stat_name(5), "SYSTEM_ERR");
  EXPECT_STREQ(reject_stat_name(0), "RPC_MISMATCH");
  EXPECT_STREQ(reject_stat_name(1), "AUTH_ERROR");
  EXPECT_STREQ(auth_stat_name(1), "AUTH_BADCRED");
  EXPECT_STREQ(auth_stat_name(5), "AUTH_TOOWEAK");
  EXPECT_STREQ(auth_stat_name(7), "AUTH_FAILED");
  EXPECT_STREQ(auth_stat_name(13), "RPCSEC_GSS_CREDPROBLEM");
  EXPECT_STREQ(auth_stat_name(14), "RPCSEC_GSS_CTXPROBLEM");
}

TEST(RpcNamesTest, AreUnknownOutsideThem) {
  EXPECT_STREQ(auth_flavor_name(4), "unknown");
  EXPECT_STREQ(accept_stat_name(6), "unknown");
  EXPECT_STREQ(reject_stat_name(2), "unknown");
  EXPECT_STREQ(auth_stat_name(15), "unknown");
}

}  // namespace
}  // namespace rpcrdma::wire
