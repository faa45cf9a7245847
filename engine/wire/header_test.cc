// Every message type of both versions, against bytes derived by hand from the XDR.
#include "support/wire_bytes.h"

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {
namespace {

std::vector<std::uint8_t> encoded(const Header& header) {
  std::vector<std::uint8_t> out(encoded_size(header) + 8, 0xee);
  const auto size = encode_header(header, out);
  if (!size) return {};
  EXPECT_EQ(*size, encoded_size(header));
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(*size), out.end(),
                          [](std::uint8_t b) { return b == 0xee; }));
  out.resize(*size);
  return out;
}

Header header_of(std::uint32_t vers, Proc proc) {
  Header header;
  header.xid = 0x11223344;
  header.vers = vers;
  header.credit = 32;
  header.proc = proc;
  return header;
}

void expect_prefix(const HeaderView& view, std::uint32_t vers, Proc proc, std::uint32_t length) {
  EXPECT_EQ(view.xid, 0x11223344U);
  EXPECT_EQ(view.vers, vers);
  EXPECT_EQ(view.credit, 32U);
  EXPECT_EQ(view.proc, proc);
  EXPECT_EQ(view.length, length);
}

// ---- the prefix

TEST(DecodePrefixTest, ReadsTheFourWordsOfAnyVersion) {
  const auto prefix = decode_prefix(hex("11223344 00000007 00000020 00000063"));
  ASSERT_TRUE(prefix);
  EXPECT_EQ(prefix->xid, 0x11223344U);
  EXPECT_EQ(prefix->vers, 7U);
  EXPECT_EQ(prefix->credit, 32U);
  EXPECT_EQ(prefix->proc, 0x63U);
}

TEST(DecodePrefixTest, PointsAtTheWordThatIsNotWhole) {
  expect_error(decode_prefix(hex("11223344 00000001 000000")), Errc::kTruncated, 8, "HDR-01");
}

// ---- version 1, golden bytes

const std::vector<std::uint8_t> kShortestMsg =
    hex("11223344 00000001 00000020 00000000"  // xid, vers, credit, RDMA_MSG
        "00000000 00000000 00000000");         // three empty lists

TEST(HeaderV1Test, DecodesTheShortestMsg) {
  const auto view = decode_header(kShortestMsg);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kMsg, 28);
  EXPECT_TRUE(view->reads.empty());
  EXPECT_TRUE(view->writes.empty());
  EXPECT_FALSE(view->reply.has_value());
}

TEST(HeaderV1Test, EncodesTheShortestMsg) {
  EXPECT_EQ(encoded(header_of(1, Proc::kMsg)), kShortestMsg);
}

TEST(HeaderV1Test, LeavesThePayloadAlone) {
  auto bytes = kShortestMsg;
  bytes.insert(bytes.end(), {0xff, 0xff, 0xff, 0xff, 0xff});
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->length, 28U);
}

const std::vector<std::uint8_t> kMsgAllLists =
    hex("11223344 00000001 00000020 00000000"   // xid, vers, credit, RDMA_MSG
        "00000001 00000070 000006c4 00008000"   // Read: position 112, handle, length
        "447f06edcc5ad000"                      //   offset
        "00000001 00000070 000006c5 00000010"   // Read: same position, 16 bytes
        "447f06edcc5ae000"                      //
        "00000000"                              // end of the Read list
        "00000001 00000002"                     // Write chunk of 2 segments
        "0000000a 00001000 0000000100000000"    //
        "0000000b 00000400 0000000200000000"    //
        "00000001 00000001"                     // Write chunk of 1 segment
        "0000000c 00000001 fffffffffffffffe"    //
        "00000000"                              // end of the Write list
        "00000001 00000001"                     // Reply chunk of 1 segment
        "0000000d 00002000 0000000300000004");  //

constexpr std::array<ReadSegment, 2> kReads{
    {{0x70, {0x6c4, 0x8000, 0x447f06edcc5ad000}}, {0x70, {0x6c5, 0x10, 0x447f06edcc5ae000}}}};
constexpr std::array<Segment, 2> kFirstChunk{
    {{0xa, 0x1000, 0x100000000}, {0xb, 0x400, 0x200000000}}};
constexpr std::array<Segment, 1> kSecondChunk{{{0xc, 1, 0xfffffffffffffffe}}};
constexpr std::array<Segment, 1> kReplyChunk{{{0xd, 0x2000, 0x300000004}}};
const std::array<WriteChunk, 2> kWrites{WriteChunk(kFirstChunk), WriteChunk(kSecondChunk)};

template <typename View, typename Expected>
void expect_elements(const View& view, const Expected& expected) {
  EXPECT_TRUE(std::equal(view.begin(), view.end(), expected.begin(), expected.end()));
}

void expect_all_lists(const HeaderView& view) {
  ASSERT_EQ(view.reads.size(), 2U);
  expect_elements(view.reads, kReads);
  EXPECT_EQ(view.reads[1], kReads[1]);
  ASSERT_EQ(view.writes.size(), 2U);
  auto write = view.writes.begin();
  expect_elements(*write, kFirstChunk);
  EXPECT_EQ(total_length(*write), 0x1400U);
  ++write;
  expect_elements(*write, kSecondChunk);
  ++write;
  EXPECT_TRUE(write == view.writes.end());
  ASSERT_TRUE(view.reply.has_value());
  expect_elements(*view.reply, kReplyChunk);
}

void add_all_lists(Header& header) {
  header.reads = kReads;
  header.writes = kWrites;
  header.reply = WriteChunk(kReplyChunk);
}

TEST(HeaderV1Test, DecodesAllThreeLists) {
  const auto view = decode_header(kMsgAllLists);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kMsg, 160);
  expect_all_lists(*view);
}

TEST(HeaderV1Test, EncodesAllThreeLists) {
  Header header = header_of(1, Proc::kMsg);
  add_all_lists(header);
  EXPECT_EQ(encoded(header), kMsgAllLists);
}

TEST(HeaderV1Test, ViewsPointAtTheReceivedBytes) {
  const auto view = decode_header(kMsgAllLists);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->reads.bytes() - kMsgAllLists.data(), 20);  // after the first marker
  EXPECT_EQ((*view->writes.begin()).bytes() - kMsgAllLists.data(), 76);
  EXPECT_EQ(view->reply->bytes() - kMsgAllLists.data(), 144);
}

const std::vector<std::uint8_t> kNomsg =
    hex("11223344 00000001 00000020 00000001"  // RDMA_NOMSG
        "00000001 00000000 00000007 00003000"  // Read: position zero
        "0000000000001000"                     //
        "00000000 00000000 00000000");         //
constexpr std::array<ReadSegment, 1> kPositionZero{{{0, {7, 0x3000, 0x1000}}}};

TEST(HeaderV1Test, DecodesNomsgWithAPositionZeroChunk) {
  const auto view = decode_header(kNomsg);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kNomsg, 52);
  expect_elements(view->reads, kPositionZero);
}

TEST(HeaderV1Test, EncodesNomsgWithAPositionZeroChunk) {
  Header header = header_of(1, Proc::kNomsg);
  header.reads = kPositionZero;
  EXPECT_EQ(encoded(header), kNomsg);
}

const std::vector<std::uint8_t> kMsgp =
    hex("11223344 00000001 00000020 00000002"  // RDMA_MSGP
        "00001000 00000800"                    // align, thresh
        "00000000 00000000 00000000");

TEST(HeaderV1Test, DecodesMsgp) {
  const auto view = decode_header(kMsgp);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kMsgp, 36);
  EXPECT_EQ(view->align, 4096U);
  EXPECT_EQ(view->thresh, 2048U);
}

TEST(HeaderV1Test, EncodesMsgp) {
  Header header = header_of(1, Proc::kMsgp);
  header.align = 4096;
  header.thresh = 2048;
  EXPECT_EQ(encoded(header), kMsgp);
}

const std::vector<std::uint8_t> kDone = hex("11223344 00000001 00000020 00000003");

TEST(HeaderV1Test, DecodesDone) {
  const auto view = decode_header(kDone);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kDone, 16);
}

TEST(HeaderV1Test, EncodesDone) {
  EXPECT_EQ(encoded(header_of(1, Proc::kDone)), kDone);
}

const std::vector<std::uint8_t> kErrVers =
    hex("11223344 00000001 00000020 00000004"  // RDMA_ERROR
        "00000001 00000001 00000003");         // ERR_VERS, low, high

TEST(HeaderV1Test, DecodesErrVers) {
  ASSERT_EQ(kErrVers.size(), 28U);
  const auto view = decode_header(kErrVers);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kError, 28);
  EXPECT_EQ(view->error, RdmaErr::kVers);
  EXPECT_EQ(view->vers_low, 1U);
  EXPECT_EQ(view->vers_high, 3U);
}

TEST(HeaderV1Test, EncodesErrVers) {
  Header header = header_of(1, Proc::kError);
  header.vers_low = 1;
  header.vers_high = 3;
  EXPECT_EQ(encoded(header), kErrVers);
}

const std::vector<std::uint8_t> kErrChunk =
    hex("11223344 00000001 00000020 00000004 00000002");  // RDMA_ERROR, ERR_CHUNK

TEST(HeaderV1Test, DecodesErrChunk) {
  ASSERT_EQ(kErrChunk.size(), 20U);
  const auto view = decode_header(kErrChunk);
  ASSERT_TRUE(view);
  expect_prefix(*view, 1, Proc::kError, 20);
  EXPECT_EQ(view->error, RdmaErr::kChunk);
}

TEST(HeaderV1Test, EncodesErrChunk) {
  Header header = header_of(1, Proc::kError);
  header.error = RdmaErr::kChunk;
  EXPECT_EQ(encoded(header), kErrChunk);
}

TEST(HeaderV1Test, ShowsAReplyChunkWithoutSegmentsFromNone) {
  const auto bytes =
      hex("11223344 00000001 00000020 00000001"
          "00000000 00000000 00000001 00000000");
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  ASSERT_TRUE(view->reply.has_value());
  EXPECT_TRUE(view->reply->empty());
  Header header = header_of(1, Proc::kNomsg);
  header.reply = WriteChunk();
  EXPECT_EQ(encoded(header), bytes);
}

TEST(HeaderV1Test, WalksOverAWriteChunkWithoutSegments) {
  const auto bytes =
      hex("11223344 00000001 00000020 00000000"
          "00000000"
          "00000001 00000000"  // Write chunk of no segments
          "00000001 00000001 0000000a 00000004 0000000000000008"
          "00000000 00000000");
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->writes.size(), 2U);
  auto write = view->writes.begin();
  EXPECT_TRUE((*write).empty());
  write++;
  EXPECT_EQ((*write)[0], (Segment{0xa, 4, 8}));
}

// ---- version 1, headers that a Linux 6.1 client and server sent

TEST(HeaderLinuxTest, DecodesAnNfsWriteCall) {
  const auto bytes =
      hex("447f06ed 00000001 00000080 00000000 00000001 00000070 000006c4 00008000 447f06edcc5ad000"
          "00000000 00000000 00000000 447f06ed 00000000");
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->xid, 0x447f06edU);
  EXPECT_EQ(view->credit, 128U);
  EXPECT_EQ(view->length, 52U);
  ASSERT_EQ(view->reads.size(), 1U);
  EXPECT_EQ(view->reads[0], (ReadSegment{112, {0x6c4, 32768, 0x447f06edcc5ad000}}));
}

TEST(HeaderLinuxTest, DecodesAReplyThroughAReplyChunk) {
  const auto bytes =
      hex("b87e06ed 00000001 00000040 00000001 00000000 00000000 00000001 00000003"
          "00000c90 000000b8 b87e06edc9a55000 00000b25 00000000 b87e06edc2d53000"
          "00000af1 00000000 b87e06edc9a55100");
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->proc, Proc::kNomsg);
  EXPECT_EQ(view->credit, 64U);
  EXPECT_EQ(view->length, bytes.size());
  ASSERT_TRUE(view->reply.has_value());
  EXPECT_EQ(view->reply->size(), 3U);
  EXPECT_EQ(total_length(*view->reply), 184U);
}

// ---- version 1, invalid headers

TEST(HeaderV1Test, RefusesAnUnknownVersion) {
  expect_error(decode_header(hex("11223344 00000003 00000020 00000000 00000000 00000000 00000000")),
               Errc::kUnsupported, 4, "HDR-03");
}

// It copies the version of the message that it refuses.
TEST(HeaderV1Test, AnErrVersHasTheSameFormInEveryVersion) {
  const auto bytes = hex("11223344 00000009 00000020 00000004 00000001 00000001 00000002");
  const auto header = decode_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->vers, 9U);
  EXPECT_EQ(header->proc, Proc::kError);
  EXPECT_EQ(header->error, RdmaErr::kVers);
  EXPECT_EQ(header->vers_low, 1U);
  EXPECT_EQ(header->vers_high, 2U);
  EXPECT_EQ(header->length, 28U);
  Header out = header_of(9, Proc::kError);
  out.xid = 0x11223344;
  out.credit = 0x20;
  out.vers_low = 1;
  out.vers_high = 2;
  std::vector<std::uint8_t> encoded(encoded_size(out));
  ASSERT_EQ(encode_header(out, encoded).value_or(0), 28U);
  EXPECT_EQ(encoded, std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  expect_error(decode_header(hex("11223344 00000009 00000020 00000004 00000001 00000001")),
               Errc::kTruncated, 24, "ERR-02");
  expect_error(decode_header(hex("11223344 00000009 00000020 00000004 00000002")),
               Errc::kUnsupported, 4, "HDR-03");
}

TEST(HeaderV1Test, RefusesVersionZero) {
  expect_error(decode_header(hex("11223344 00000000 00000020 00000000")), Errc::kUnsupported, 4,
               "HDR-03");
}

TEST(HeaderV1Test, RefusesAnUnknownProc) {
  for (const char* proc : {"00000005", "00000006", "ffffffff"}) {
    const auto result = decode_header(hex(std::string("11223344 00000001 00000020") + proc));
    expect_error(result, Errc::kBadValue, 12, "HDR-05");
  }
}

TEST(HeaderV1Test, DescribesAnUnknownProc) {
  const auto result = decode_header(hex("11223344 00000001 00000020 00000005"));
  ASSERT_FALSE(result);
  EXPECT_EQ(describe(result.error()), "offset 12: rdma_proc is not one of 0..4 (HDR-05)");
}

TEST(HeaderV1Test, RefusesAReadMarkerOfTwo) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000002 00000000 00000000")),
               Errc::kBadValue, 16, "HDR-06");
}

TEST(HeaderV1Test, RefusesAMarkerBehindAReadSegment) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000"
                                 "00000001 00000070 000006c4 00008000 447f06edcc5ad000"
                                 "01000000 00000000 00000000")),
               Errc::kBadValue, 40, "HDR-06");
}

TEST(HeaderV1Test, RefusesAWriteMarkerOfTwo) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000000 00000002 00000000")),
               Errc::kBadValue, 20, "HDR-06");
}

TEST(HeaderV1Test, RefusesAReplyMarkerOfTwo) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000000 00000000 00000002")),
               Errc::kBadValue, 24, "HDR-06");
}

TEST(HeaderV1Test, RefusesAMarkerOfTwoInMsgp) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000002 00001000 00000800"
                                 "00000002 00000000 00000000")),
               Errc::kBadValue, 24, "HDR-06");
}

TEST(HeaderV1Test, RefusesAnErrorCodeOfVersionTwo) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000004 00000003")), Errc::kBadValue,
               16, "ERR-03");
}

TEST(HeaderV1Test, RefusesErrorCodeZero) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000004 00000000")), Errc::kBadValue,
               16, "ERR-03");
}

TEST(HeaderV1Test, NamesTheRuleOfATruncatedErrVers) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000004 00000001 00000001")),
               Errc::kTruncated, 24, "ERR-02");
}

TEST(HeaderV1Test, NamesTheRuleOfATruncatedMsgp) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000002 00001000")), Errc::kTruncated,
               20, "DEP-01");
}

TEST(HeaderV1Test, NamesTheRuleOfTruncatedLists) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000000 00000000")),
               Errc::kTruncated, 24, "HDR-06");
}

TEST(HeaderV1Test, RefusesASegmentCountThatOverflows32Bits) {
  // 0x10000001 * 16 wraps to 16 in 32 bits, and 16 bytes do follow.
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000000"
                                 "00000001 10000001 0000000a 00001000 0000000100000000"
                                 "00000000 00000000")),
               Errc::kTruncated, 24, "HDR-06");
}

TEST(HeaderV1Test, RefusesAReplyChunkOfMoreSegmentsThanBytes) {
  expect_error(decode_header(hex("11223344 00000001 00000020 00000000 00000000 00000000"
                                 "00000001 ffffffff 0000000a 00001000 0000000100000000")),
               Errc::kTruncated, 28, "HDR-06");
}

TEST(HeaderV1Test, AcceptsAnEmptyMessageOnlyAsTruncated) {
  expect_error(decode_header({}), Errc::kTruncated, 0, "HDR-01");
}

// ---- version 2, golden bytes

const std::vector<std::uint8_t> kMsgTwo =
    hex("11223344 00000002 00000020 00000000"  // RDMA2_MSG
        "00000001 000006c4"                    // REPLY, rdma_inv_handle
        "00000000 00000000 00000000");

TEST(HeaderV2Test, DecodesMsg) {
  const auto view = decode_header(kMsgTwo);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kMsg, 36);
  EXPECT_EQ(view->direction, MsgType::kReply);
  EXPECT_EQ(view->inv_handle, 0x6c4U);
}

TEST(HeaderV2Test, EncodesMsg) {
  Header header = header_of(2, Proc::kMsg);
  header.direction = MsgType::kReply;
  header.inv_handle = 0x6c4;
  EXPECT_EQ(encoded(header), kMsgTwo);
}

// The bytes of version 1 and two more words.
std::vector<std::uint8_t> nomsg_two_all_lists() {
  auto bytes = hex("11223344 00000002 00000020 00000001 00000000 0000000a");
  bytes.insert(bytes.end(), kMsgAllLists.begin() + 16, kMsgAllLists.end());
  return bytes;
}

TEST(HeaderV2Test, DecodesNomsgWithAllThreeLists) {
  const auto bytes = nomsg_two_all_lists();
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kNomsg, 168);
  EXPECT_EQ(view->direction, MsgType::kCall);
  EXPECT_EQ(view->inv_handle, 10U);
  expect_all_lists(*view);
}

TEST(HeaderV2Test, EncodesNomsgWithAllThreeLists) {
  Header header = header_of(2, Proc::kNomsg);
  header.inv_handle = 10;
  add_all_lists(header);
  EXPECT_EQ(encoded(header), nomsg_two_all_lists());
}

const std::vector<std::uint8_t> kErrVersTwo =
    hex("11223344 00000002 00000020 00000004 00000001 00000001 00000002");

TEST(HeaderV2Test, DecodesErrVers) {
  const auto view = decode_header(kErrVersTwo);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kError, 28);
  EXPECT_EQ(view->error, RdmaErr::kVers);
  EXPECT_EQ(view->vers_low, 1U);
  EXPECT_EQ(view->vers_high, 2U);
}

TEST(HeaderV2Test, EncodesErrVers) {
  Header header = header_of(2, Proc::kError);
  header.vers_low = 1;
  header.vers_high = 2;
  EXPECT_EQ(encoded(header), kErrVersTwo);
}

const std::vector<std::uint8_t> kCantReply =
    hex("11223344 00000002 00000020 00000004 00000003"
        "00000001 00000002 00010000");  // processed, segment 2, 64 KiB

TEST(HeaderV2Test, DecodesErrCantReply) {
  const auto view = decode_header(kCantReply);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kError, 32);
  EXPECT_EQ(view->error, RdmaErr::kCantReply);
  EXPECT_TRUE(view->processed);
  EXPECT_EQ(view->segment_index, 2U);
  EXPECT_EQ(view->length_needed, 65536U);
}

TEST(HeaderV2Test, EncodesErrCantReply) {
  Header header = header_of(2, Proc::kError);
  header.error = RdmaErr::kCantReply;
  header.processed = true;
  header.segment_index = 2;
  header.length_needed = 65536;
  EXPECT_EQ(encoded(header), kCantReply);
}

struct BodilessError {
  RdmaErr error;
  const char* word;
};

void PrintTo(const BodilessError& b, std::ostream* out) {
  *out << b.word;
}

class HeaderV2BodilessErrorTest : public ::testing::TestWithParam<BodilessError> {};

TEST_P(HeaderV2BodilessErrorTest, IsTwentyBytesBothWays) {
  const auto bytes = hex(std::string("11223344 00000002 00000020 00000004") + GetParam().word);
  ASSERT_EQ(bytes.size(), 20U);
  const auto view = decode_header(bytes);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kError, 20);
  EXPECT_EQ(view->error, GetParam().error);
  Header header = header_of(2, Proc::kError);
  header.error = GetParam().error;
  EXPECT_EQ(encoded(header), bytes);
}

INSTANTIATE_TEST_SUITE_P(All, HeaderV2BodilessErrorTest,
                         ::testing::Values(BodilessError{RdmaErr::kChunk, "00000002"},
                                           BodilessError{RdmaErr::kInvalProc, "00000004"},
                                           BodilessError{RdmaErr::kInvalOption, "00000005"}));

const std::vector<std::uint8_t> kOptional =
    hex("11223344 00000002 00000020 00000005"  // RDMA2_OPTIONAL
        "00000001 00000063 00000005"           // REPLY, opttype 99, 5 bytes
        "6162636465000000");

TEST(HeaderV2Test, DecodesOptional) {
  const auto view = decode_header(kOptional);
  ASSERT_TRUE(view);
  expect_prefix(*view, 2, Proc::kOptional, 36);
  EXPECT_EQ(view->direction, MsgType::kReply);
  EXPECT_EQ(view->opttype, 99U);
  EXPECT_EQ(std::string(view->optinfo.begin(), view->optinfo.end()), "abcde");
}

TEST(HeaderV2Test, EncodesOptional) {
  const auto info = hex("6162636465");
  Header header = header_of(2, Proc::kOptional);
  header.direction = MsgType::kReply;
  header.opttype = 99;
  header.optinfo = info;
  EXPECT_EQ(encoded(header), kOptional);
}

TEST(HeaderV2Test, EncodesOptionalWithoutOptinfo) {
  EXPECT_EQ(encoded(header_of(2, Proc::kOptional)),
            hex("11223344 00000002 00000020 00000005 00000000 00000000 00000000"));
}

// ---- version 2, invalid headers

TEST(HeaderV2Test, RefusesTheTypesThatVersionTwoDropped) {
  for (const char* proc : {"00000002", "00000003", "00000006", "ffffffff"}) {
    expect_error(decode_header(hex(std::string("11223344 00000002 00000020") + proc)),
                 Errc::kBadValue, 12, "V2-08");
  }
}

TEST(HeaderV2Test, RefusesADirectionOfTwo) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000000 00000002 00000000"
                                 "00000000 00000000 00000000")),
               Errc::kBadValue, 16, "V2-02");
}

TEST(HeaderV2Test, RefusesAnOptdirOfTwo) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000005 00000002 00000000 00000000")),
               Errc::kBadValue, 16, "V2-02");
}

TEST(HeaderV2Test, RefusesAMarkerOfTwo) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000000 00000000 00000000"
                                 "00000002 00000000 00000000")),
               Errc::kBadValue, 24, "V2-08");
}

TEST(HeaderV2Test, RefusesAnUnknownErrorCode) {
  for (const char* code : {"00000000", "00000006", "ffffffff"}) {
    expect_error(decode_header(hex(std::string("11223344 00000002 00000020 00000004") + code)),
                 Errc::kBadValue, 16, "V2-11");
  }
}

TEST(HeaderV2Test, RefusesABooleanOfTwo) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000004 00000003"
                                 "00000002 00000000 00000000")),
               Errc::kBadValue, 20, "V2-11");
}

TEST(HeaderV2Test, NamesTheRuleOfATruncatedCantReply) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000004 00000003 00000001 00000000")),
               Errc::kTruncated, 28, "V2-11");
}

TEST(HeaderV2Test, RefusesOptinfoLongerThanTheMessage) {
  // The roundup of 0xffffffff wraps to 0 in 32 bits.
  expect_error(decode_header(hex("11223344 00000002 00000020 00000005"
                                 "00000000 00000063 ffffffff 61626364")),
               Errc::kTruncated, 28, "V2-08");
}

TEST(HeaderV2Test, RefusesOptinfoWithoutItsRoundup) {
  expect_error(decode_header(hex("11223344 00000002 00000020 00000005"
                                 "00000000 00000063 00000005 6162636465")),
               Errc::kTruncated, 28, "V2-08");
}

// ---- headers that the encoder rejects

void expect_refused(const Header& header, Errc code, std::uint32_t offset, const char* rule) {
  std::vector<std::uint8_t> out(64, 0xee);
  expect_error(encode_header(header, out), code, offset, rule);
  EXPECT_EQ(encoded_size(header), 0U);
  EXPECT_EQ(out, std::vector<std::uint8_t>(64, 0xee));
}

TEST(EncodeHeaderTest, RefusesAnotherVersion) {
  expect_refused(header_of(3, Proc::kMsg), Errc::kUnsupported, 4, "HDR-03");
}

TEST(EncodeHeaderTest, RefusesOptionalInVersionOne) {
  expect_refused(header_of(1, Proc::kOptional), Errc::kBadValue, 12, "HDR-05");
}

TEST(EncodeHeaderTest, RefusesMsgpAndDoneInVersionTwo) {
  expect_refused(header_of(2, Proc::kMsgp), Errc::kBadValue, 12, "V2-08");
  expect_refused(header_of(2, Proc::kDone), Errc::kBadValue, 12, "V2-08");
}

TEST(EncodeHeaderTest, RefusesErrorCodesOfVersionTwoInVersionOne) {
  Header header = header_of(1, Proc::kError);
  for (const RdmaErr error : {RdmaErr::kCantReply, RdmaErr::kInvalProc, RdmaErr::kInvalOption}) {
    header.error = error;
    expect_refused(header, Errc::kBadValue, 16, "ERR-03");
  }
}

TEST(EncodeHeaderTest, RefusesAnErrorCodeOfNoVersion) {
  Header header = header_of(2, Proc::kError);
  header.error = static_cast<RdmaErr>(6);
  expect_refused(header, Errc::kBadValue, 16, "V2-11");
}

TEST(EncodeHeaderTest, WritesNothingWhereTheHeaderDoesNotFit) {
  std::vector<std::uint8_t> out(27, 0xee);
  expect_error(encode_header(header_of(1, Proc::kMsg), out), Errc::kNoSpace, 27, "");
  EXPECT_EQ(out, std::vector<std::uint8_t>(27, 0xee));
}

TEST(EncodeHeaderTest, FillsASpanOfExactlyTheSize) {
  std::vector<std::uint8_t> out(28);
  EXPECT_EQ(encode_header(header_of(1, Proc::kMsg), out).value_or(0), 28U);
}

// ---- names

TEST(HeaderNamesTest, AreThoseOfTheVersion) {
  EXPECT_STREQ(proc_name(1, 0), "RDMA_MSG");
  EXPECT_STREQ(proc_name(1, 1), "RDMA_NOMSG");
  EXPECT_STREQ(proc_name(1, 2), "RDMA_MSGP");
  EXPECT_STREQ(proc_name(1, 3), "RDMA_DONE");
  EXPECT_STREQ(proc_name(1, 4), "RDMA_ERROR");
  EXPECT_STREQ(proc_name(2, 0), "RDMA2_MSG");
  EXPECT_STREQ(proc_name(2, 1), "RDMA2_NOMSG");
  EXPECT_STREQ(proc_name(2, 4), "RDMA2_ERROR");
  EXPECT_STREQ(proc_name(2, 5), "RDMA2_OPTIONAL");
  EXPECT_STREQ(rdma_err_name(1, 1), "ERR_VERS");
  EXPECT_STREQ(rdma_err_name(1, 2), "ERR_CHUNK");
  EXPECT_STREQ(rdma_err_name(2, 1), "RDMA2_ERR_VERS");
  EXPECT_STREQ(rdma_err_name(2, 2), "RDMA2_ERR_BAD_XDR");
  EXPECT_STREQ(rdma_err_name(2, 3), "RDMA2_ERR_CANT_REPLY");
  EXPECT_STREQ(rdma_err_name(2, 4), "RDMA2_ERR_INVAL_PROC");
  EXPECT_STREQ(rdma_err_name(2, 5), "RDMA2_ERR_INVAL_OPTION");
}

TEST(HeaderNamesTest, AnErrVersIsNamedInEveryVersion) {
  EXPECT_STREQ(proc_name(3, 4), "RDMA_ERROR");
  EXPECT_STREQ(rdma_err_name(3, 1), "ERR_VERS");
}

TEST(HeaderNamesTest, AreUnknownOutsideTheVersion) {
  EXPECT_STREQ(proc_name(1, 5), "unknown");
  EXPECT_STREQ(proc_name(2, 2), "unknown");
  EXPECT_STREQ(proc_name(2, 6), "unknown");
  EXPECT_STREQ(proc_name(3, 0), "unknown");
  EXPECT_STREQ(rdma_err_name(1, 3), "unknown");
  EXPECT_STREQ(rdma_err_name(2, 0), "unknown");
  EXPECT_STREQ(rdma_err_name(3, 2), "unknown");
}

}  // namespace
}  // namespace rpcrdma::wire
