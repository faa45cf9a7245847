// decode_message() for version 2's later dialects. Expected values were derived from the bytes by
// hand.
#include "messages_for_tests.h"
#include "recording_sink.h"
#include "support/checking_sink.h"

#include <gmock/gmock.h>

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::decode {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using wire::Dialect;

constexpr std::string_view kSegments =
    "00000001 00000028 00000070 00000400 0000000000001000 00000000"  // Read list
    "00000001 00000001 00000071 00000800 0000000000002000 00000000"  // Write list
    "00000001 00000001 00000072 00000900 0000000000003000";          // Reply chunk
constexpr std::string_view kRpcCall =
    "11223344 00000000 00000002 000186a3 00000004 00000000 00000000 00000000 00000000 00000000";

std::vector<std::uint8_t> message(std::string_view type, std::string_view rest,
                                  std::string_view behind = {}) {
  return from_hex("11223344 00000002 00000020 " + std::string(type) + std::string(rest) +
                  std::string(behind));
}
std::string text(Dialect dialect, const std::vector<std::uint8_t>& bytes) {
  std::string out;
  TextSink sink(out);
  decode_message(bytes, sink, nullptr, dialect);
  return out;
}

TEST(LaterHeader, CallInline) {
  const std::string out =
      text(Dialect::kIetf03, message("0000000a", "00000099" + std::string(kSegments), kRpcCall));
  EXPECT_THAT(out, HasSubstr("RPC-over-RDMA: version 2 (ietf-03), RDMA2_CALL_INLINE, XID "
                             "0x11223344, credit 32\n"
                             "    XID: 0x11223344\n"
                             "    Version: 2\n"
                             "    Credit value: 32\n"
                             "    Message type: RDMA2_CALL_INLINE (10)\n"
                             "    [Dialect: ietf-03]\n"
                             "    Handle to invalidate: 0x00000099\n"
                             "    Read segments: 1\n"));
  EXPECT_THAT(out, HasSubstr("    Reply chunk: 2304 bytes in 1 segment\n"));
  EXPECT_THAT(out, HasSubstr("Remote Procedure Call: Call, NFS version 4 NULL, XID 0x11223344\n"));
}

TEST(LaterHeader, TheLastPartOfACallIsPayload) {
  const std::string out =
      text(Dialect::kIetf03, message("0000000a", "00000000 00000000 00000000 00000000 55667788"));
  EXPECT_THAT(out, HasSubstr("Payload: "));
  EXPECT_THAT(out, Not(HasSubstr("Remote Procedure Call")));
}

TEST(LaterHeader, CallExternalHasTwoReadLists) {
  const std::string lists =
      "00000001 00000000 00000070 00000400 0000000000001000 00000000" + std::string(kSegments);
  const auto bytes = message("00000008", "00000000" + lists);
  EXPECT_THAT(text(Dialect::kIetf03, bytes), HasSubstr("    Call segments: 1\n"));
  RecordingSink sink;
  decode_message(bytes, sink, nullptr, Dialect::kIetf03);
  EXPECT_THAT(sink.lines, Contains("rpcrdma.call.count @20+28"));
  EXPECT_THAT(sink.lines, Contains("rpcrdma.read.count @48+28"));
  EXPECT_THAT(sink.lines, Contains("rpcrdma.write.count @76+28"));
  EXPECT_THAT(sink.lines, Contains("rpcrdma.reply.present @104+4"));
}

TEST(LaterHeader, Flags) {
  const std::string out = text(
      Dialect::kFlags, message("00000000", "00000003 00000000 00000000 00000000 00000000", "11"));
  EXPECT_THAT(out, HasSubstr("    Flags: 0x00000003\n"
                             "    Response: True\n"
                             "    More: True\n"
                             "    More properties: False\n"
                             "    Handle to invalidate: 0x00000000\n"));
}

TEST(LaterHeader, Properties) {
  const auto bytes =
      message("00000007", "00000002 00000001 00000004 00001000 00000006 00000003 61626300");
  EXPECT_THAT(text(Dialect::kIetf03, bytes), HasSubstr("    Properties: 2\n"
                                                       "    Property: SBSIZ 4096\n"
                                                       "        ID: SBSIZ (1)\n"
                                                       "        Value: 4096\n"
                                                       "    Property: HOSTAUTH, 3 bytes\n"
                                                       "        ID: HOSTAUTH (6)\n"));
  RecordingSink sink;
  decode_message(bytes, sink, nullptr, Dialect::kIetf03);
  EXPECT_THAT(sink.lines, Contains("rpcrdma.prop @20+12"));
  EXPECT_THAT(sink.lines, Contains("rpcrdma.prop @32+12"));
  EXPECT_THAT(sink.lines, Contains("rpcrdma.prop.data @40+3"));
}

TEST(LaterHeader, AResponseAboutProperties) {
  const std::string out =
      text(Dialect::kCel03, message("00000008", "00000001 00000001 00000001 00000002 00000000"));
  EXPECT_THAT(out, HasSubstr("    Done: RBSIZ (1)\n    Rejected: BRS (2)\n    Properties: 0\n"));
}

TEST(LaterHeader, Errors) {
  EXPECT_THAT(text(Dialect::kIetf03, message("00000004", "00000009 00000002 00001000")),
              HasSubstr("    Error: RDMA2_ERR_WRITE_RESOURCE (9)\n"
                        "    Chunk index: 2\n"
                        "    Length needed: 4096\n"));
  EXPECT_THAT(text(Dialect::kFlags, message("00000004", "00000001 00000006 00000003")),
              HasSubstr("    Error: RDMA2_ERR_READ_CHUNKS (6)\n    Most chunks: 3\n"));
  EXPECT_THAT(text(Dialect::kCel03, message("00000004", "00000006 00000003")),
              HasSubstr("    Error: RDMA2_ERR_SEGMENTS (6)\n    Most segments: 3\n"));
}

TEST(LaterHeader, WhatDoesNotDecodeIsMalformedUnderItsName) {
  const std::string out = text(Dialect::kIetf03, message("00000000", "00000000"));
  EXPECT_THAT(out, HasSubstr("malformed"));
  EXPECT_THAT(out, HasSubstr("rdma_htype is not defined by the dialect (ietf-03)"));
}

TEST(LaterHeader, OtherVersionsAreDecodedAsEver) {
  std::string plain;
  TextSink sink(plain);
  decode_message(from_hex(kNullCall), sink);
  EXPECT_EQ(text(Dialect::kIetf03, from_hex(kNullCall)), plain);
}

TEST(LaterHeader, CutAnywhereItStaysWithinTheBytes) {
  for (const Dialect dialect : {Dialect::kCel03, Dialect::kFlags, Dialect::kIetf03}) {
    for (std::uint8_t type = 0; type <= 14; ++type) {
      auto bytes = message("00000000", "00000001 00000001 " + std::string(kSegments), kRpcCall);
      bytes[15] = type;
      for (std::size_t n = 0; n <= bytes.size(); ++n) {
        CheckingSink sink(n);
        decode_message(wire::Bytes(bytes).first(n), sink, nullptr, dialect);
        ASSERT_EQ(sink.problem(), "") << int{type} << " cut to " << n;
      }
    }
  }
}

}  // namespace
}  // namespace rpcrdma::decode
