// Calls that a responder serves, messages that it ignores, and those that it answers with an error;
// one test per reason to refuse.
#include "call_check.h"

#include "support/counting_new.h"
#include "support/wire_bytes.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rpcrdma::protocol {
namespace {

using wire::hex;
using wire::testing::allocations_in;

// Words of a header, in wire order.
const std::string kMsg = "11223344 00000001 00000020 00000000 ";
const std::string kNomsg = "11223344 00000001 00000020 00000001 ";
const std::string kEnd = "00000000 ";
const std::string kNoLists = kEnd + kEnd + kEnd;
const std::string kCall = "11223344 00000000 00000002 000186a3 00000003 00000007 ";  // 24 bytes

std::string read(std::string_view position, std::string_view length,
                 std::string_view offset = "0000000000001000",
                 std::string_view handle = "0000000a") {
  return "00000001 " + std::string(position) + ' ' + std::string(handle) + ' ' +
         std::string(length) + ' ' + std::string(offset) + ' ';
}

std::string segment(std::string_view handle, std::string_view length,
                    std::string_view offset = "0000000000002000") {
  return std::string(handle) + ' ' + std::string(length) + ' ' + std::string(offset) + ' ';
}

struct Checked {
  CallVerdict verdict;
  CheckedCall call;
  std::vector<std::uint8_t> message;
};

std::unique_ptr<Checked> check(const std::string& words, const ResponderOptions& options = {}) {
  auto checked = std::make_unique<Checked>();
  checked->message = hex(words);
  checked->verdict = check_call(checked->message, wire::decode_header(checked->message), {},
                                options, checked->call);
  return checked;
}

void expect_verdict(const CallVerdict& verdict, CallAnswer answer, std::string_view rule) {
  EXPECT_EQ(verdict.answer, answer) << verdict.reason;
  EXPECT_EQ(verdict.xid, 0x11223344U);
  EXPECT_EQ(verdict.rule, rule) << verdict.reason;
  EXPECT_STRNE(verdict.reason, "");
}

void expect_chunk_error(const std::string& words, std::string_view rule,
                        const ResponderOptions& options = {}) {
  SCOPED_TRACE(words);
  expect_verdict(check(words, options)->verdict, CallAnswer::kErrorChunk, rule);
}

void expect_served(const std::string& words, const ResponderOptions& options = {}) {
  const auto checked = check(words, options);
  EXPECT_EQ(checked->verdict.answer, CallAnswer::kServe)
      << words << ": " << checked->verdict.rule << ' ' << checked->verdict.reason;
}

TEST(CallCheckTest, AShortCall) {
  const auto c = check(kMsg + kNoLists + kCall);
  ASSERT_EQ(c->verdict.answer, CallAnswer::kServe) << c->verdict.reason;
  EXPECT_EQ(c->call.xid, 0x11223344U);
  EXPECT_EQ(c->call.credit, 0x20U);
  EXPECT_FALSE(c->call.is_long);
  EXPECT_EQ(c->call.payload.data(), c->message.data() + 28);
  EXPECT_EQ(c->call.payload.size(), 24U);
  EXPECT_TRUE(c->call.reads.empty());
  EXPECT_EQ(c->call.segments.size(), 0U);
  EXPECT_EQ(c->call.offer.write_chunks, 0U);
  EXPECT_FALSE(c->call.offer.has_reply_chunk);
}

TEST(CallCheckTest, ACallWithEveryChunk) {
  const auto c = check(kMsg + read("00000008", "00000005", "0000000000001000") +
                       read("00000008", "00000004", "0000000000003000") +
                       read("00000018", "00000010", "0000000000005000", "0000000b") + kEnd +
                       "00000001 00000002 " + segment("0000000c", "00001000") +
                       segment("0000000d", "00000800") + "00000001 00000000 " +
                       "00000001 00000001 " + segment("0000000e", "00000000") + kEnd +
                       "00000001 00000001 " + segment("0000000f", "00004000") + kCall);
  ASSERT_EQ(c->verdict.answer, CallAnswer::kServe) << c->verdict.reason;
  const CheckedCall& call = c->call;
  EXPECT_EQ(call.read_bytes, 25U);
  EXPECT_EQ(call.segments.size(), 7U);

  ASSERT_EQ(call.reads.size(), 2U);
  EXPECT_EQ(call.reads[0].position, 8U);
  EXPECT_EQ(call.reads[0].bytes, 9U);
  ASSERT_EQ(call.of(call.reads[0].segments).size(), 2U);
  EXPECT_EQ(call.of(call.reads[0].segments)[1], (wire::Segment{0xa, 4, 0x3000}));
  EXPECT_EQ(call.reads[1].position, 0x18U);
  EXPECT_EQ(call.reads[1].bytes, 16U);
  EXPECT_EQ(call.of(call.reads[1].segments)[0], (wire::Segment{0xb, 16, 0x5000}));

  ASSERT_EQ(call.offer.write_chunks, 3U);
  EXPECT_EQ(call.offer.write_chunk[0], 0x1800U);
  EXPECT_EQ(call.offer.write_segments, 3U);
  EXPECT_EQ(call.of(call.writes[0])[1], (wire::Segment{0xd, 0x800, 0x2000}));
  EXPECT_EQ(call.offer.write_chunk[1], 0U);
  EXPECT_EQ(call.offer.write_chunk[2], 0U);

  EXPECT_TRUE(call.offer.has_reply_chunk);
  EXPECT_EQ(call.offer.reply_chunk, 0x4000U);
  EXPECT_EQ(call.offer.reply_segments, 1U);
  EXPECT_EQ(call.of(call.reply)[0], (wire::Segment{0xf, 0x4000, 0x2000}));
}

TEST(CallCheckTest, ALongCall) {
  const auto c = check(kNomsg + read("00000000", "00000020", "0000000000001000") +
                       read("00000000", "00000004", "0000000000003000") +
                       read("00000024", "00000007", "0000000000005000") + kEnd + kEnd + kEnd);
  ASSERT_EQ(c->verdict.answer, CallAnswer::kServe) << c->verdict.reason;
  EXPECT_TRUE(c->call.is_long);
  EXPECT_TRUE(c->call.payload.empty());
  ASSERT_EQ(c->call.reads.size(), 2U);
  EXPECT_EQ(c->call.reads[0].bytes, 0x24U);
  EXPECT_EQ(c->call.reads[1].position, 0x24U);
}

// An NFSv3 WRITE of 32 KiB as Linux sends it: the item is at the end of the stream, after its
// count.
TEST(CallCheckTest, AWriteOfALinuxClient) {
  const auto c = check(
      "447f06ed 00000001 00000080 00000000 00000001 00000070 000006c4 00008000 447f06edcc5ad000"
      "00000000 00000000 00000000 447f06ed 00000000 00000002 000186a3 00000003 00000007 00000001"
      "0000001c 00000000 00000006 286e6f6e 65290000 00000000 00000000 00000000 00000000 00000000"
      "00000014 01000101 00000000 3329a8f4 7f000000 00000000 00000000 00000000 00008000 00000000"
      "00008000");
  ASSERT_EQ(c->verdict.answer, CallAnswer::kServe) << c->verdict.reason;
  EXPECT_EQ(c->call.payload.size(), 0x70U);
  ASSERT_EQ(c->call.reads.size(), 1U);
  EXPECT_EQ(c->call.reads[0].position, 0x70U);
  EXPECT_EQ(c->call.reads[0].bytes, 0x8000U);
  const std::vector<std::uint8_t> data(0x8000);
  const Placed items[] = {{c->call.reads[0].position, data}};
  StreamReader reader(c->call.payload, items);
  for (int i = 0; i < 7; ++i) (void)reader.u32();  // to the credential's length
  EXPECT_EQ(reader.opaque().size(), 0x1cU);
  (void)reader.u32();
  EXPECT_TRUE(reader.opaque().empty());      // the verifier
  EXPECT_EQ(reader.opaque().size(), 0x14U);  // the file handle
  EXPECT_EQ(reader.u64(), 0U);               // offset
  EXPECT_EQ(reader.u32(), 0x8000U);          // count
  EXPECT_EQ(reader.u32(), 0U);               // stable
  EXPECT_EQ(reader.opaque().data(), data.data());
  EXPECT_TRUE(reader.at_end());
}

// The same object is reused for every Call.
TEST(CallCheckTest, NothingOfTheCallBeforeIsLeft) {
  CheckedCall call;
  const auto first = hex(kMsg + read("00000008", "00000005") + kEnd + "00000001 00000001 " +
                         segment("0000000c", "00001000") + kEnd + "00000001 00000001 " +
                         segment("0000000f", "00004000") + kCall);
  ASSERT_EQ(check_call(first, wire::decode_header(first), {}, {}, call).answer, CallAnswer::kServe);
  const auto second = hex(kMsg + kNoLists + kCall);
  ASSERT_EQ(check_call(second, wire::decode_header(second), {}, {}, call).answer,
            CallAnswer::kServe);
  EXPECT_EQ(call.read_bytes, 0U);
  EXPECT_EQ(call.reads.size(), 0U);
  EXPECT_EQ(call.segments.size(), 0U);
  EXPECT_EQ(call.offer.write_chunks, 0U);
  EXPECT_EQ(call.offer.write_chunk[0], 0U);
  EXPECT_EQ(call.offer.reply_segments, 0U);
  EXPECT_FALSE(call.offer.has_reply_chunk);
  EXPECT_TRUE(call.of(call.reply).empty());
}

TEST(CallCheckTest, AMessageWithoutTheFixedWordsIsIgnored) {
  const auto c = check("11223344 00000001 00000020 000000");
  EXPECT_EQ(c->verdict.answer, CallAnswer::kIgnore);
  EXPECT_STREQ(c->verdict.rule, "HDR-01");
  EXPECT_EQ(check("")->verdict.answer, CallAnswer::kIgnore);
}

TEST(CallCheckTest, ErrorsAreNotAnswered) {
  for (const char* words : {"00000001 00000020 00000004 00000002",                    // ERR_CHUNK
                            "00000001 00000020 00000004 00000001 00000001 00000001",  // ERR_VERS
                            "00000001 00000020 00000004 00000009", "00000001 00000020 00000004",
                            "00000002 00000020 00000004 00000002", "00000007 00000020 00000004"}) {
    SCOPED_TRACE(words);
    expect_verdict(check("11223344 " + std::string(words))->verdict, CallAnswer::kIgnore, "ERR-06");
  }
}

TEST(CallCheckTest, DoneIsNotAnswered) {
  expect_verdict(check("11223344 00000001 00000020 00000003")->verdict, CallAnswer::kIgnore,
                 "DEP-01");
}

TEST(CallCheckTest, AReplyIsNotAnswered) {
  expect_verdict(check(kMsg + kNoLists + "11223344 00000001 00000000")->verdict,
                 CallAnswer::kIgnore, "BI-03");
}

TEST(CallCheckTest, AnotherVersionIsEmittedTheRange) {
  for (const char* words :
       {"00000000 00000020 00000000", "00000002 00000020 00000000 00000000 00000000 00000000",
        "00000002 00000020 00000003", "00000003 00000020 00000003", "ffffffff 00000020 ffffffff"}) {
    SCOPED_TRACE(words);
    expect_verdict(check("11223344 " + std::string(words))->verdict, CallAnswer::kErrorVersion,
                   "HDR-03");
  }
}

TEST(CallCheckTest, AHeaderThatCannotBeReadIsRefused) {
  expect_chunk_error("11223344 00000001 00000020 00000005", "HDR-05");
  expect_chunk_error("11223344 00000001 00000020 ffffffff", "HDR-05");
  expect_chunk_error(kMsg + "00000002 00000000 00000000" + kCall, "HDR-06");
  expect_chunk_error(kMsg, "HDR-06");
  expect_chunk_error(kMsg + kEnd + kEnd + "00000001 ffffffff", "HDR-06");
}

TEST(CallCheckTest, MsgpIsRefused) {
  const std::string msgp = "11223344 00000001 00000020 00000002 ";
  expect_chunk_error(msgp + "00001000 00000400 " + kNoLists + kCall, "DEP-01");
  expect_chunk_error(msgp, "DEP-01");
}

TEST(CallCheckTest, TheRpcMessageBeginsWithTheXidAndIsACall) {
  expect_served(kMsg + kNoLists + "11223344 00000000");
  expect_chunk_error(kMsg + kNoLists, "HDR-07");
  expect_chunk_error(kMsg + kNoLists + "11223344 000000", "HDR-07");
  expect_chunk_error(kMsg + kNoLists + "11223345 00000000", "HDR-02");
  expect_chunk_error(kMsg + kNoLists + "11223344 00000002", "HDR-07");
}

TEST(CallCheckTest, NothingFollowsAnRdmaNomsg) {
  const std::string header = kNomsg + read("00000000", "00000020") + kEnd + kEnd + kEnd;
  expect_served(header);
  expect_chunk_error(header + "00000000", "HDR-07");
}

TEST(CallCheckTest, PositionZeroGoesWithRdmaNomsg) {
  expect_chunk_error(kNomsg + kNoLists, "RD-04");
  expect_chunk_error(kNomsg + read("00000008", "00000020") + kEnd + kEnd + kEnd, "RD-04");
  expect_chunk_error(kMsg + read("00000000", "00000020") + kEnd + kEnd + kEnd + kCall, "RD-04");
  expect_chunk_error(kMsg + read("00000000", "00000020") +
                         read("00000008", "00000020", "0000000000005000") + kEnd + kEnd + kEnd +
                         kCall,
                     "RD-04");
}

TEST(CallCheckTest, APositionZeroChunkHoldsAnRpcMessage) {
  expect_served(kNomsg + read("00000000", "00000008") + kEnd + kEnd + kEnd);
  expect_chunk_error(kNomsg + read("00000000", "00000007") + kEnd + kEnd + kEnd, "HDR-07");
}

TEST(CallCheckTest, PositionsAreMultiplesOfFour) {
  for (const char* position : {"00000001", "0000000a", "00000017", "ffffffff"}) {
    expect_chunk_error(kMsg + read(position, "00000020") + kEnd + kEnd + kEnd + kCall, "RD-02");
  }
}

// Servers take any order, and clients send it.
TEST(CallCheckTest, TheReadListHasAnyOrder) {
  const std::string rest = kEnd + kEnd + kEnd + kCall;
  const auto later_first = check(kMsg + read("00000010", "00000004") +
                                 read("00000008", "00000004", "0000000000005000") + rest);
  ASSERT_EQ(later_first->verdict.answer, CallAnswer::kServe) << later_first->verdict.reason;
  ASSERT_EQ(later_first->call.reads.size(), 2U);
  EXPECT_EQ(later_first->call.reads[0].position, 8U);
  EXPECT_EQ(later_first->call.of(later_first->call.reads[0].segments)[0].offset, 0x5000U);
  EXPECT_EQ(later_first->call.reads[1].position, 16U);
  // Another chunk between two segments of one, which keep their order.
  const auto between =
      check(kMsg + read("00000008", "00000004") + read("00000010", "00000004", "0000000000003000") +
            read("00000008", "00000004", "0000000000000800") + rest);
  ASSERT_EQ(between->verdict.answer, CallAnswer::kServe) << between->verdict.reason;
  ASSERT_EQ(between->call.reads.size(), 2U);
  EXPECT_EQ(between->call.reads[0].bytes, 8U);
  const auto first = between->call.of(between->call.reads[0].segments);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].offset, 0x1000U);
  EXPECT_EQ(first[1].offset, 0x800U);
  // Position Zero may be the last.
  const auto zero_last =
      check(kNomsg + read("00000020", "00000004") +
            read("00000000", "00000020", "0000000000005000") + kEnd + kEnd + kEnd);
  ASSERT_EQ(zero_last->verdict.answer, CallAnswer::kServe) << zero_last->verdict.reason;
  EXPECT_TRUE(zero_last->call.is_long);
  EXPECT_EQ(zero_last->call.reads[0].bytes, 0x20U);
}

TEST(CallCheckTest, PositionsLieWithinTheStream) {
  const std::string rest = kEnd + kEnd + kEnd + kCall;  // 24 bytes of stream
  expect_served(kMsg + read("00000018", "00000020") + rest);
  expect_chunk_error(kMsg + read("0000001c", "00000020") + rest, "RD-05");
  expect_chunk_error(kMsg + read("fffffffc", "00000020") + rest, "RD-05");
  // An earlier chunk moves the end by its length and roundup.
  const std::string first = kMsg + read("00000008", "00000005");
  expect_served(first + read("00000020", "00000004", "0000000000005000") + rest);
  expect_chunk_error(first + read("00000024", "00000004", "0000000000005000") + rest, "RD-05");
  // In a long Call the stream is the Position Zero chunk.
  const std::string zero = kNomsg + read("00000000", "00000010");
  expect_served(zero + read("00000010", "00000004", "0000000000005000") + kNoLists);
  expect_chunk_error(zero + read("00000014", "00000004", "0000000000005000") + kNoLists, "RD-05");
}

TEST(CallCheckTest, ReadChunksDoNotOverlapInTheStream) {
  const std::string first = kMsg + read("00000008", "00000005");
  const std::string rest = kEnd + kEnd + kEnd + kCall;
  expect_served(first + read("00000010", "00000004", "0000000000005000") + rest);
  expect_chunk_error(first + read("0000000c", "00000004", "0000000000005000") + rest, "RD-06");
}

TEST(CallCheckTest, ReadSegmentsHaveBytes) {
  expect_chunk_error(kMsg + read("00000008", "00000000") + kEnd + kEnd + kEnd + kCall, "RD-08");
}

TEST(CallCheckTest, OffsetAndLengthDoNotPassTheEndOfTheAddresses) {
  const std::string rest = kEnd + kEnd + kEnd + kCall;
  expect_served(kMsg + read("00000008", "00000010", "fffffffffffffff0") + rest);
  expect_chunk_error(kMsg + read("00000008", "00000011", "fffffffffffffff0") + rest, "RD-09");
  const auto write = [&](std::string_view length) {
    return kMsg + kEnd + "00000001 00000001 " + segment("0000000c", length, "fffffffffffffff0") +
           kEnd + kEnd + kCall;
  };
  expect_served(write("00000010"));
  expect_served(write("00000000"));
  expect_chunk_error(write("00000011"), "RD-09");
  const auto reply = [&](std::string_view length) {
    return kMsg + kEnd + kEnd + "00000001 00000001 " +
           segment("0000000c", length, "fffffffffffffff0") + kCall;
  };
  expect_served(reply("00000010"));
  expect_chunk_error(reply("00000011"), "RD-09");
}

TEST(CallCheckTest, ReadSegmentsOfOneHandleDoNotOverlap) {
  const auto two = [](std::string_view offset, std::string_view handle) {
    return kMsg + read("00000008", "00000010", "0000000000001000") +
           read("00000008", "00000010", offset, handle) + kEnd + kEnd + kEnd + kCall;
  };
  expect_served(two("0000000000001010", "0000000a"));
  expect_served(two("0000000000000ff0", "0000000a"));
  expect_served(two("0000000000001000", "0000000b"));
  expect_chunk_error(two("000000000000100f", "0000000a"), "RD-09");
  expect_chunk_error(two("0000000000000ff1", "0000000a"), "RD-09");
}

TEST(CallCheckTest, AReplyChunkHasSegmentsAndTheyHaveBytes) {
  expect_chunk_error(kMsg + kEnd + kEnd + "00000001 00000000 " + kCall, "RP-05");
  expect_chunk_error(kMsg + kEnd + kEnd + "00000001 00000002 " + segment("0000000c", "00000010") +
                         segment("0000000d", "00000000") + kCall,
                     "RP-05");
}

// `count` Read segments of four bytes at one position.
std::string reads(int count) {
  std::string words;
  for (int i = 0; i < count; ++i)
    words += read("00000008", "00000004", fmt::format("{:016x}", 0x10000 + 4 * i));
  return words;
}

std::string chunk(int segments, std::string_view length = "00000010") {
  std::string words = fmt::format("00000001 {:08x}", segments);
  for (int i = 0; i < segments; ++i) words += ' ' + segment("0000000c", length);
  return words + ' ';
}

TEST(CallCheckTest, SegmentsOfAllChunksAreLimited) {
  const auto message = [](int read_segments, int write_segments, int reply_segments) {
    return kMsg + reads(read_segments) + kEnd + chunk(write_segments) + kEnd +
           (reply_segments == 0 ? kEnd : chunk(reply_segments)) + kCall;
  };
  expect_served(message(1024, 0, 0));
  expect_served(message(500, 500, 24));
  expect_served(message(0, 1024, 0));
  expect_served(message(0, 0, 1024));
  expect_chunk_error(message(1025, 0, 0), "");
  expect_chunk_error(message(500, 525, 0), "");
  expect_chunk_error(message(500, 500, 25), "");
  expect_chunk_error(message(0, 0, 1025), "");
  expect_served(message(2, 1, 1), {.max_segments = 4});
  expect_chunk_error(message(2, 1, 2), "", {.max_segments = 4});
  expect_served(message(1000, 1000, 0), {.max_segments = 2000});
}

TEST(CallCheckTest, WriteChunksAreLimited) {
  const auto message = [](int chunks) {
    std::string words = kMsg + kEnd;
    for (int i = 0; i < chunks; ++i) words += chunk(1);
    return words + kEnd + kEnd + kCall;
  };
  expect_served(message(64));
  expect_chunk_error(message(65), "");
  expect_served(message(2), {.max_write_chunks = 2});
  expect_chunk_error(message(3), "", {.max_write_chunks = 2});
}

// Many segments are compared in another way.
TEST(CallCheckTest, ManySegmentsOfOneHandleDoNotOverlap) {
  std::string words;
  for (int i = 0; i < 100; ++i)
    words += read("00000008", "00000004", fmt::format("{:016x}", 4 * (i * 37 % 100)));
  expect_served(kMsg + words + kEnd + kEnd + kEnd + kCall);
  words += read("00000008", "00000004", fmt::format("{:016x}", 4 * 50 + 3));
  expect_chunk_error(kMsg + words + kEnd + kEnd + kEnd + kCall, "RD-09");
}

TEST(CallCheckTest, BytesOfAllReadChunksAreLimited) {
  const ResponderOptions options{.max_chunk_bytes = 0x20};
  const std::string rest = kEnd + kEnd + kEnd + kCall;
  expect_served(kMsg + read("00000008", "00000020") + rest, options);
  expect_chunk_error(kMsg + read("00000008", "00000021") + rest, "", options);
  expect_served(
      kMsg + read("00000008", "00000010") + read("00000018", "00000010", "0000000000005000") + rest,
      options);
  expect_chunk_error(
      kMsg + read("00000008", "00000010") + read("00000018", "00000011", "0000000000005000") + rest,
      "", options);
  // Memory for Writes is not held here, so it is not limited.
  expect_served(kMsg + kEnd + chunk(4, "ffffffff") + kEnd + chunk(4, "ffffffff") + kCall, options);
}

TEST(CallCheckTest, AMessageIsShorterThanTwoGiB) {
  const ResponderOptions options{.max_chunk_bytes = UINT64_MAX};
  const std::string rest = kEnd + kEnd + kEnd + kCall;
  expect_served(kMsg + read("00000008", "7fffffe4") + rest, options);
  expect_chunk_error(kMsg + read("00000008", "7fffffe8") + rest, "", options);
  expect_chunk_error(kMsg + read("00000008", "80000000") + rest, "", options);
  std::string many = kMsg;
  for (int i = 0; i < 5; ++i) many += read("00000008", "ffffffff", "0000000000001000");
  expect_chunk_error(many + rest, "", options);
}

TEST(CallCheckTest, AStreamIsThatOfItsCall) {
  EXPECT_EQ(check_stream(hex("11223344 00000000"), 0x11223344, kVersionOne).answer,
            CallAnswer::kServe);
  expect_verdict(check_stream(hex("11223344 000000"), 0x11223344, kVersionOne),
                 CallAnswer::kErrorChunk, "HDR-07");
  expect_verdict(check_stream(hex("11223345 00000000"), 0x11223344, kVersionOne),
                 CallAnswer::kErrorChunk, "HDR-02");
  expect_verdict(check_stream(hex("11223344 00000001"), 0x11223344, kVersionOne),
                 CallAnswer::kIgnore, "BI-03");
  expect_verdict(check_stream(hex("11223344 00000003"), 0x11223344, kVersionOne),
                 CallAnswer::kErrorChunk, "HDR-07");
}

// The same object is reused for every Call.
TEST(CallCheckTest, NothingIsAllocatedAgain) {
  const auto good = hex(kMsg + reads(20) + kEnd + chunk(20) + kEnd + chunk(20) + kCall);
  const auto bad = hex(kMsg + reads(20) + kEnd + chunk(30) + kEnd + "00000001 00000000 " + kCall);
  const auto odd = hex(kMsg);
  CheckedCall call;
  CallAnswer answers[3] = {};
  ASSERT_EQ(check_call(good, wire::decode_header(good), {}, {}, call).answer, CallAnswer::kServe);
  EXPECT_EQ(allocations_in([&] {
              answers[0] = check_call(good, wire::decode_header(good), {}, {}, call).answer;
              answers[1] = check_call(bad, wire::decode_header(bad), {}, {}, call).answer;
              answers[2] = check_call(odd, wire::decode_header(odd), {}, {}, call).answer;
            }),
            0U);
  EXPECT_EQ(answers[0], CallAnswer::kServe);
  EXPECT_EQ(answers[1], CallAnswer::kErrorChunk);
  EXPECT_EQ(answers[2], CallAnswer::kErrorChunk);
}

}  // namespace
}  // namespace rpcrdma::protocol
