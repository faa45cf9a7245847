// AUTH_SYS and RPCSEC_GSS credentials against bytes derived by hand from their RFCs, and encoder
// limits.
#include "support/wire_bytes.h"

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::wire {
namespace {

template <typename Decode>
void expect_every_truncation_truncated(const std::vector<std::uint8_t>& whole, Decode decode) {
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::uint8_t> shorter(whole.begin(),
                                            whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto result = decode(shorter);
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().code, Errc::kTruncated);
  }
}

// ---- AUTH_SYS

const std::vector<std::uint8_t> kSys =
    hex("01020304"                      // stamp
        "00000006 286e6f6e65290000"     // "(none)"
        "000003e8 00000064"             // uid 1000, gid 100
        "00000002 00000004 00000018");  // gids 4, 24

TEST(AuthSysTest, Decodes) {
  const auto auth = decode_auth_sys(kSys);
  ASSERT_TRUE(auth);
  EXPECT_EQ(auth->stamp, 0x01020304U);
  EXPECT_EQ(std::string(auth->machine.begin(), auth->machine.end()), "(none)");
  EXPECT_EQ(auth->uid, 1000U);
  EXPECT_EQ(auth->gid, 100U);
  ASSERT_EQ(auth->gid_count, 2U);
  EXPECT_EQ(load_be32(auth->gids.data() + 4), 24U);
}

TEST(AuthSysTest, Encodes) {
  const auto machine = hex("286e6f6e6529");
  const auto gids = hex("00000004 00000018");
  std::vector<std::uint8_t> out(kSys.size());
  EXPECT_EQ(encode_auth_sys({0x01020304, machine, 1000, 100, 2, gids}, out).value_or(0),
            kSys.size());
  EXPECT_EQ(out, kSys);
}

TEST(AuthSysTest, EveryTruncationIsTruncated) {
  expect_every_truncation_truncated(kSys, decode_auth_sys);
}

TEST(AuthSysTest, RefusesANameOver255Bytes) {
  auto bytes = hex("00000000 00000100");
  bytes.resize(1024);
  expect_error(decode_auth_sys(bytes), Errc::kTooLong, 4, "RFC 5531 A");
}

TEST(AuthSysTest, AcceptsSixteenGids) {
  auto bytes = hex("00000000 00000000 00000000 00000000 00000010");
  bytes.resize(20 + 64);
  const auto auth = decode_auth_sys(bytes);
  ASSERT_TRUE(auth);
  EXPECT_EQ(auth->gids.size(), 64U);
}

TEST(AuthSysTest, RefusesSeventeenGids) {
  auto bytes = hex("00000000 00000000 00000000 00000000 00000011");
  bytes.resize(20 + 68);
  expect_error(decode_auth_sys(bytes), Errc::kTooLong, 16, "RFC 5531 A");
}

TEST(AuthSysTest, EncodesOnlyWhatItWouldDecode) {
  std::vector<std::uint8_t> out(1024);
  const std::vector<std::uint8_t> long_name(256);
  const std::vector<std::uint8_t> gids(68);
  AuthSys auth;
  auth.machine = long_name;
  expect_error(encode_auth_sys(auth, out), Errc::kTooLong, 4, "RFC 5531 A");
  auth.machine = {};
  auth.gid_count = 17;
  auth.gids = gids;
  expect_error(encode_auth_sys(auth, out), Errc::kTooLong, 0, "RFC 5531 A");
  auth.gid_count = 16;
  expect_error(encode_auth_sys(auth, out), Errc::kBadValue, 0, "RFC 5531 A");
}

TEST(AuthSysTest, SaysWhereThereIsNoSpace) {
  std::vector<std::uint8_t> out(19);
  expect_error(encode_auth_sys({}, out), Errc::kNoSpace, 19, "");
}

// ---- RPCSEC_GSS

const std::vector<std::uint8_t> kGss =
    hex("00000001 00000000 00000007 00000003"  // version 1, DATA, sequence 7, privacy
        "00000003 61626300");                  // handle

TEST(GssCredTest, Decodes) {
  const auto cred = decode_gss_cred(kGss);
  ASSERT_TRUE(cred);
  EXPECT_EQ(cred->version, 1U);
  EXPECT_EQ(cred->gss_proc, 0U);
  EXPECT_EQ(cred->seq_num, 7U);
  EXPECT_EQ(cred->service, 3U);
  EXPECT_EQ(std::string(cred->handle.begin(), cred->handle.end()), "abc");
}

TEST(GssCredTest, Encodes) {
  const auto handle = hex("616263");
  std::vector<std::uint8_t> out(kGss.size());
  EXPECT_EQ(encode_gss_cred({1, 0, 7, 3, handle}, out).value_or(0), kGss.size());
  EXPECT_EQ(out, kGss);
}

TEST(GssCredTest, DecodesVersionTwo) {
  const auto cred = decode_gss_cred(hex("00000002 00000001 00000000 00000001 00000000"));
  ASSERT_TRUE(cred);
  EXPECT_EQ(cred->version, 2U);
}

TEST(GssCredTest, RefusesVersionThree) {
  expect_error(decode_gss_cred(hex("00000003 00000000 00000000 00000001 00000000")),
               Errc::kUnsupported, 0, "RFC 2203 5");
}

TEST(GssCredTest, EveryTruncationIsTruncated) {
  expect_every_truncation_truncated(kGss, decode_gss_cred);
}

TEST(GssCredTest, EncodesNothingThatAnOpaqueAuthCannotHold) {
  const std::vector<std::uint8_t> handle(381);
  std::vector<std::uint8_t> out(1024);
  GssCred cred;
  cred.handle = handle;
  expect_error(encode_gss_cred(cred, out), Errc::kTooLong, 16, "RFC 5531 8.2");
  cred.handle = cred.handle.first(380);
  EXPECT_EQ(encode_gss_cred(cred, out).value_or(0), 400U);
}

TEST(GssCredTest, EncodesNoVersionThree) {
  std::vector<std::uint8_t> out(64);
  GssCred cred;
  cred.version = 3;
  expect_error(encode_gss_cred(cred, out), Errc::kUnsupported, 0, "RFC 2203 5");
}

TEST(GssCredTest, SaysWhereThereIsNoSpace) {
  std::vector<std::uint8_t> out(19);
  expect_error(encode_gss_cred({}, out), Errc::kNoSpace, 19, "");
}

}  // namespace
}  // namespace rpcrdma::wire
