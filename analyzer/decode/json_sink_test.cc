#include "messages_for_tests.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::decode {
namespace {

TEST(JsonSink, SubtreesAreObjects) {
  JsonSink sink;
  sink.open(FieldId::kTransport, 0, 28, "version 1");
  sink.number(FieldId::kCredit, 8, 4, 128, nullptr);
  sink.close();
  EXPECT_EQ(sink.take().dump(), R"({"rpcrdma":{"rpcrdma.credit":128}})");
}

TEST(JsonSink, FieldsThatOccurAgainAreArrays) {
  JsonSink sink;
  for (const std::uint64_t gid : {4U, 24U, 27U}) {
    sink.number(FieldId::kAuthSysGids, 0, 4, gid, nullptr);
  }
  EXPECT_EQ(sink.take().dump(), R"({"rpc.auth_sys.gids":[4,24,27]})");
}

TEST(JsonSink, SubtreesThatOccurAgainAreArrays) {
  JsonSink sink;
  for (const std::uint64_t handle : {1U, 2U}) {
    sink.open(FieldId::kSegment, 0, 16, "");
    sink.number(FieldId::kSegmentHandle, 0, 4, handle, nullptr);
    sink.close();
  }
  EXPECT_EQ(sink.take().dump(),
            R"({"rpcrdma.segment":[{"rpcrdma.segment.handle":1},{"rpcrdma.segment.handle":2}]})");
}

TEST(JsonSink, ValueHasItsNameBesideIt) {
  JsonSink sink;
  sink.number(FieldId::kProc, 12, 4, 0, "RDMA2_MSG");
  sink.number(FieldId::kRpcMsgType, 4, 4, 1, nullptr);
  EXPECT_EQ(sink.take().dump(), R"({"rpcrdma.proc":0,"rpcrdma.proc_name":"RDMA2_MSG",)"
                                R"("rpc.msgtype":1,"rpc.msgtype_name":"Reply"})");
}

TEST(JsonSink, ValuesByType) {
  JsonSink sink;
  const std::array<std::uint8_t, 2> bytes{0xab, 0x01};
  sink.number(FieldId::kReplyPresent, 0, 4, 1, nullptr);
  sink.number(FieldId::kSegmentOffset, 0, 8, UINT64_MAX, nullptr);
  sink.number(FieldId::kIpCmSource4, 0, 4, 0x0a4d0002, nullptr);
  sink.number(FieldId::kLatency, 0, 0, 123000, nullptr);
  sink.bytes(FieldId::kOptInfo, 0, 2, bytes);
  EXPECT_EQ(sink.take().dump(),
            R"({"rpcrdma.reply.present":true,"rpcrdma.segment.offset":18446744073709551615,)"
            R"("cm.ip.source":"10.77.0.2","rpcrdma.latency":123000,"rpcrdma.opt.info":"ab01"})");
}

// dump() throws on strings that are not UTF-8; none may reach it.
TEST(JsonSink, TextFromTheWireIsMadeValid) {
  JsonSink sink;
  sink.text(FieldId::kAuthSysMachine, 0, 3, "a\xff\x01");
  std::string dumped;
  EXPECT_NO_THROW(dumped = sink.take().dump());
  EXPECT_EQ(dumped, "{\"rpc.auth_sys.machine\":\"a\xef\xbf\xbd\\u0001\"}");
}

TEST(JsonSink, ErrorNamesOffsetAndRule) {
  JsonSink sink;
  sink.error({wire::Errc::kBadValue, 12, "HDR-05", "rdma_proc is not one of 0..4"});
  EXPECT_EQ(sink.take().dump(),
            R"-({"rpcrdma.malformed":"offset 12: rdma_proc is not one of 0..4 (HDR-05)"})-");
}

TEST(JsonSink, StartsAfreshWhenTaken) {
  JsonSink sink;
  sink.number(FieldId::kCredit, 8, 4, 128, nullptr);
  static_cast<void>(sink.take());
  EXPECT_EQ(sink.take().dump(), "{}");
}

TEST(JsonSink, WholeMessage) {
  JsonSink sink;
  decode_message(from_hex(kErrVers), sink);
  EXPECT_EQ(sink.take().dump(),
            R"({"rpcrdma":{"rpcrdma.xid":42,"rpcrdma.version":1,"rpcrdma.credit":16,)"
            R"("rpcrdma.proc":4,"rpcrdma.proc_name":"RDMA_ERROR",)"
            R"("rpcrdma.error":1,"rpcrdma.error_name":"ERR_VERS",)"
            R"("rpcrdma.error.vers_low":1,"rpcrdma.error.vers_high":1}})");
}

TEST(ValidUtf8, KeepsWhatIsValid) {
  for (const char* text : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesEachByteThatIsNot) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("\x80"), r);                          // a continuation byte alone
  EXPECT_EQ(valid_utf8("\xc3"), r);                          // truncated
  EXPECT_EQ(valid_utf8("\xc0\x80"), r + r);                  // overlong
  EXPECT_EQ(valid_utf8("\xe0\x80\x80"), r + r + r);          // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(valid_utf8("\xf0\x80\x80\x80"), r + r + r + r);  // overlong
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("\xe2\x82z"), r + r + "z");           // truncated by another character
}

}  // namespace
}  // namespace rpcrdma::decode
