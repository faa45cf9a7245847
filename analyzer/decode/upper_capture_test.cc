// Arguments and results cut from the captures in tests/captures, each starting after its RPC header
// and reduced as it was sent. The operations are those that tshark finds in the same frame, except
// in frame 302 of linux-deleg.pcap: tshark 4.0.17 misses the stateid of CLAIM_DELEG_CUR_FH there.
#include "messages_for_tests.h"
#include "upper_for_tests.h"

#include <array>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

using testing::ElementsAre;

// linux-nfs41.pcap, frame 64.
constexpr std::string_view kExchangeIdCall =
    "0000000000000001000000010000002a18ea016f25ee6a5f000000144c696e7578204e465376342e3120286e"
    "6f6e65290000010100000000000000010000000a6b65726e656c2e6f72670000000000504c696e757820362e"
    "312e302d35302d616d64363420233120534d5020505245454d50545f44594e414d49432044656269616e2036"
    "2e312e3137362d312028323032362d30372d303229207838365f3634000000000000000000000000";

// linux-nfs41.pcap, frame 67.
constexpr std::string_view kExchangeIdReply =
    "0000000000000000000000010000002a000000005253016b4ede46c400000001000200010000000000000000"
    "0000000000000006286e6f6e6529000000000006286e6f6e6529000000000000";

// linux-nfs41.pcap, frame 76.
constexpr std::string_view kCreateSessionCall =
    "0000000000000001000000010000002b5253016b4fde46c40000000100000003000000000010041400100388"
    "00001da00000000800000040000000000000000000000fe400000fe400000000000000020000001000000000"
    "40000000000000010000000125ee6a5f00000006286e6f6e65290000000000000000000000000000";

// linux-nfs41.pcap, frame 78.
constexpr std::string_view kCreateSessionReply =
    "0000000000000000000000010000002b000000005253016b4fde46c401000000000000000000000100000002"
    "00000000000410000004100000000850000000080000001e000000000000000000000fe400000fe400000000"
    "000000020000001000000000";

// linux-nfs41.pcap, frame 86.
constexpr std::string_view kSecinfoNoNameReply =
    "00000000000000000000000300000035000000005253016b4fde46c401000000000000000000000200000000"
    "0000001d0000001d00000000000000180000000000000034000000000000000100000001";

// linux-nfs41.pcap, frame 492.
constexpr std::string_view kOddReadReply =
    "00000000000000000000000300000035000000005253016b4fde46c401000000000000000000001600000000"
    "0000001d0000001d0000000000000016000000000000001900000000000000010000138b";

// linux-nfs41.pcap, frame 817.
constexpr std::string_view kOddWriteCall =
    "000000000000000100000004000000355253016b4fde46c40100000000000000000000210000000000000000"
    "00000000000000160000001401000101000000006391b8d0800000000000000000000026000000005253016b"
    "4fde46c4050000000000000000000000000000020000300900000009000000020000001800302000";

// linux-nfs41.pcap, frame 866.
constexpr std::string_view kCreateReply =
    "00000000000000000000000500000035000000005253016b4fde46c401000000000000000000002800000000"
    "0000001d0000001d0000000000000016000000000000000600000000000000011ac054d6ebde76831ac054d6"
    "f9b280800000000200000000000000020000000a00000000000000140100010100000000177ee5f582000000"
    "000000000000000900000000000000020010011a00b0a23a00000080000000051ac054d6f9b2807500000000"
    "00000384000000000000000000000000000000000000000000000082000001ff000000010000000130000000"
    "000000013000000000000000000000000000000000001000000000006b01535b39b28075000000006b01535b"
    "39b28075000000006b01535b39b280750000000000000082";

// linux-deleg.pcap, frame 177.
constexpr std::string_view kDelegationReply =
    "0000000000000000000000060000003500000000b157016b13bcc9bc01000000000000000000000e00000000"
    "0000001d0000001d000000000000001600000000000000120000000000000001b157016b13bcc9bc01000000"
    "000000011ac055ec47de283f1ac055ec47de283f0000002400000001000000000000000100000001b157016b"
    "13bcc9bc0200000000000000000000000000000000000000000000000000000a000000000000001401000101"
    "00000000698fb4c77e0000000000000000000003000000000000002d0000000d000000090000000000000002"
    "0010011a00b0a23a00000080000000011ac055ec4a4082380000000000000006000000000000000000000000"
    "00000000000000000000007e000001b600000001000000013000000000000001300000000000000000000000"
    "0000000000001000000000006b0157b107de2838000000006b0157b10a408237000000006b0157b1081b3138"
    "000000000000007e";

// linux-deleg.pcap, frame 294.
constexpr std::string_view kRecallCall =
    "000000000000000100000000000000020000000bb157016b13bcc9bc01000000000000000000000100000000"
    "0000000000000000000000000000000400000001b157016b13bcc9bc02000000000000000000001401000101"
    "00000000698fb4c77e00000000000000";

// linux-deleg.pcap, frame 299.
constexpr std::string_view kRecallReply =
    "0000000000000000000000020000000b00000000b157016b13bcc9bc01000000000000000000000100000000"
    "0000000f0000000f0000000400000000";

// linux-deleg.pcap, frame 297.
constexpr std::string_view kDelayedOpenReply =
    "0000271800000000000000030000003500000000b157016b15bcc9bc02000000000000000000000c00000000"
    "0000001d0000001d0000000000000016000000000000001200002718";

// linux-deleg.pcap, frame 302.
constexpr std::string_view kOpenByDelegationCall =
    "00000000000000010000000400000035b157016b13bcc9bc0100000000000000000000170000000000000000"
    "0000000100000016000000140100010100000000698fb4c77e00000000000000000000120000000000000001"
    "00000000b157016b13bcc9bc000000186f70656e2069643a0000001d000000000000000abdda0bf100000000"
    "0000000500000001b157016b13bcc9bc02000000000000090000000100100002";

// linux-nfs3.pcap, frame 1217.
constexpr std::string_view kNfs3OddReadReply =
    "000000000000000100000001000001a4000000010000000000000000000000000000138b0000000000002000"
    "00000000000000000000000000000000000000000000007d6b0153a938444a4d6b0153a10e8b23fd6b0153a1"
    "0e8b23fd0000138b000000010000138b";

// linux-nfs3.pcap, frame 1353.
constexpr std::string_view kNfs3WriteCall =
    "000000140100010100000000f5240e3680000000000000000000000000000000000027120000000200002712";

CompoundOps call_ops(const ProcedureId& id, std::string_view hex,
                     std::span<const Removed> removed = {}) {
  return parse_compound_call(id, from_hex(hex), removed);
}

CompoundOps reply_ops(const ProcedureId& id, std::string_view hex) {
  return result_ops(id, from_hex(hex));
}

TEST(UpperCaptureTest, ExchangeId) {
  const CompoundOps call = call_ops(kCompound, kExchangeIdCall);
  EXPECT_TRUE(call.complete);
  EXPECT_EQ(call.minor, 1U);
  EXPECT_THAT(kept(call), ElementsAre(42U));
  EXPECT_TRUE(reply_ops(kCompound, kExchangeIdReply).complete);
}

TEST(UpperCaptureTest, CreateSession) {
  EXPECT_TRUE(call_ops(kCompound, kCreateSessionCall).complete);
  EXPECT_TRUE(reply_ops(kCompound, kCreateSessionReply).complete);
}

TEST(UpperCaptureTest, SecinfoNoName) {
  const CompoundOps ops = reply_ops(kCompound, kSecinfoNoNameReply);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 24U, 52U));
}

TEST(UpperCaptureTest, CreateOfALink) {
  const CompoundOps ops = reply_ops(kCompound, kCreateReply);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U, 6U, 10U, 9U));
}

TEST(UpperCaptureTest, OpenWithADelegation) {
  const CompoundOps ops = reply_ops(kCompound, kDelegationReply);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U, 18U, 10U, 3U, 9U));
}

TEST(UpperCaptureTest, OpenByADelegation) {
  const CompoundOps ops = call_ops(kCompound, kOpenByDelegationCall);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U, 18U, 9U));
}

TEST(UpperCaptureTest, DelayedOpen) {
  const CompoundOps ops = reply_ops(kCompound, kDelayedOpenReply);
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(ops.status, 10008U);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U, 18U));
}

TEST(UpperCaptureTest, Recall) {
  const CompoundOps call = call_ops(kCallbackCompound, kRecallCall);
  EXPECT_TRUE(call.complete);
  EXPECT_THAT(kept(call), ElementsAre(11U, 4U));
  const CompoundOps reply = reply_ops(kCallbackCompound, kRecallReply);
  EXPECT_TRUE(reply.complete);
  EXPECT_THAT(kept(reply), ElementsAre(11U, 4U));
}

// 12,297 bytes: their three bytes of roundup are in neither the chunk nor the stream.
TEST(UpperCaptureTest, WriteOfAnOddLength) {
  const Removed removed[] = {{112, 12297}};
  const CompoundOps ops = call_ops(kCompound, kOddWriteCall, removed);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U, 38U, 9U));
  const FileRange range = file_range(kCompound, from_hex(kOddWriteCall), removed);
  EXPECT_TRUE(range.valid);
  EXPECT_EQ(range.offset, 0U);
  EXPECT_EQ(range.count, 12297U);
}

// 5,003 bytes: the byte of roundup is in neither the chunk nor the stream.
TEST(UpperCaptureTest, ReadOfAnOddLength) {
  const ByteVector results = from_hex(kOddReadReply);
  const std::uint64_t chunks[] = {5003};
  std::array<DdpItem, 2> items;
  CompoundOps ops;
  ASSERT_EQ(find_result_items(kCompound, results, chunks, items, &ops), 1U);
  EXPECT_EQ(items[0].count_offset + 4, results.size());
  EXPECT_EQ(items[0].length, 5003U);
  EXPECT_EQ(items[0].operation, 2U);
  EXPECT_EQ(items[0].chunk, 0);
  EXPECT_TRUE(ops.complete);
}

TEST(UpperCaptureTest, Nfs3ReadOfAnOddLength) {
  const ByteVector results = from_hex(kNfs3OddReadReply);
  const std::uint64_t chunks[] = {5003};
  std::array<DdpItem, 2> items;
  ASSERT_EQ(find_result_items({kProgNfs, 3, 6}, results, chunks, items), 1U);
  EXPECT_EQ(items[0].count_offset + 4, results.size());
  EXPECT_EQ(items[0].length, 5003U);
  EXPECT_EQ(items[0].chunk, 0);
}

TEST(UpperCaptureTest, Nfs3Write) {
  const FileRange range = file_range({kProgNfs, 3, 7}, from_hex(kNfs3WriteCall), {});
  EXPECT_TRUE(range.valid);
  EXPECT_EQ(range.offset, 0U);
  EXPECT_EQ(range.count, 10002U);
}

}  // namespace
}  // namespace rpcrdma::decode
