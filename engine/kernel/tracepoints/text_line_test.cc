#include <gmock/gmock.h>

#include <rpcrdma/tracepoints/text_line.h>

namespace rpcrdma::tracepoints {
namespace {

// The record's texts refer to the line.
Line read(std::string_view line, Record& record) {
  std::uint64_t lost = 0;
  return read_line(line, record, lost);
}

TEST(TextLine, OfTraceCmdReport) {
  const std::string line =
      "    kworker/0:1H-38    [003]    54.327195: xprtrdma_wc_receive:  cq.id=2 cid=8 "
      "status=SUCCESS (0/0x0) received=52";
  Record r;
  ASSERT_EQ(read(line, r), Line::kRecord);
  EXPECT_EQ(r.event, Event::kWcReceive);
  EXPECT_EQ(r.time, 54'327'195'000);
  EXPECT_EQ(r.cpu, 3U);
  EXPECT_EQ(r.pid, 38);
  EXPECT_EQ(r.u32(Field::kCqId), 2U);
  EXPECT_EQ(r.u32(Field::kCompletionId), 8U);
  EXPECT_TRUE(r.has(Field::kStatus));
  EXPECT_EQ(r.u64(Field::kStatus), 0U);
  EXPECT_EQ(r.u32(Field::kReceived), 52U);
}

TEST(TextLine, OfTracePipe) {
  Record r;
  ASSERT_EQ(read("            nfsd-169     [000] ...1.    58.358193123: svcrdma_post_send: cq.id=1 "
                 "cid=72 num_sge=1 inv_rkey=0x000007c1",
                 r),
            Line::kRecord);
  EXPECT_EQ(r.time, 58'358'193'123);
  EXPECT_EQ(r.u32(Field::kInvRkey), 0x7c1U);
  ASSERT_EQ(read("nfsd-169 (  169) [012] d..1. 1.5: svcrdma_post_send: cq_id=1 cid=72", r),
            Line::kRecord);
  EXPECT_EQ(r.pid, 169);
  EXPECT_EQ(r.cpu, 12U);
  EXPECT_EQ(r.time, 1'500'000'000);
  EXPECT_FALSE(r.has(Field::kInvRkey));
}

TEST(TextLine, NumbersInHexWithoutPrefix) {
  Record r;
  ASSERT_EQ(read("a-1 [000] 1.0: xprtrdma_mr_reminv: task:0000001f@00000010 mr.id=9 nents=1 "
                 "4240@0x379f44888466a000:0x00000c6c (FROM_DEVICE)",
                 r),
            Line::kRecord);
  EXPECT_EQ(r.u32(Field::kTaskId), 0x1fU);
  EXPECT_EQ(r.u32(Field::kClientId), 0x10U);
  EXPECT_EQ(r.u32(Field::kLength), 4240U);
  EXPECT_EQ(r.u64(Field::kOffset), 0x379f44888466a000U);
  EXPECT_EQ(r.u32(Field::kHandle), 0xc6cU);
}

TEST(TextLine, ProgramsProceduresAndNegativeNumbers) {
  Record r;
  ASSERT_EQ(
      read("a b-c-7 [001] 1.0: rpc_request: task:00000001@00000002 nfsv4 EXCHANGE_ID (sync)", r),
      Line::kRecord);
  EXPECT_EQ(r.pid, 7);
  EXPECT_EQ(r.text(Field::kProgname), "nfs");
  EXPECT_EQ(r.u32(Field::kVersion), 4U);
  EXPECT_EQ(r.text(Field::kProcname), "EXCHANGE_ID");
  ASSERT_EQ(read("a-7 [001] 1.0: xprtrdma_connect: peer=[fe80::1]:20049 rc=-111 connection "
                 "status=-111",
                 r),
            Line::kRecord);
  EXPECT_EQ(r.text(Field::kAddr), "fe80::1");
  EXPECT_EQ(r.text(Field::kPort), "20049");
  EXPECT_EQ(r.i64(Field::kRc), -111);
}

TEST(TextLine, LostEvents) {
  Record r;
  std::uint64_t lost = 0;
  EXPECT_EQ(read_line("CPU:2 [LOST 1234 EVENTS]", r, lost), Line::kLost);
  EXPECT_EQ(lost, 1234U);
  EXPECT_EQ(read_line("CPU:0 [EVENTS DROPPED]", r, lost), Line::kLost);
  EXPECT_EQ(lost, 1U);
  EXPECT_EQ(read_line("CPU:0 [17 EVENTS DROPPED]", r, lost), Line::kLost);
  EXPECT_EQ(lost, 17U);
}

TEST(TextLine, OtherLines) {
  Record r;
  for (const char* const line :
       {"", "cpus=4", "# tracer: nop", "CPU 0 is empty",
        "   sleep-204   [000]    60.705080: cq_schedule:          cq.id=2"}) {
    EXPECT_EQ(read(line, r), Line::kOther) << line;
  }
  for (const char* const line :
       {"hello", "a-1 [000] x: xprt_reserve: y", "a [000] 1.0: xprt_reserve: y",
        "a-1 [000] 1.0 xprt_reserve y", "a-1 [000] 99999999999999999999.0: xprt_reserve: y",
        "a-1 [000]", "a-1 [000] 1.x: xprt_reserve:"}) {
    EXPECT_EQ(read(line, r), Line::kUnknown) << line;
  }
  EXPECT_EQ(read("a-1 [000] 1.0: " + std::string(100000, 'x'), r), Line::kUnknown);
}

TEST(TextLine, FieldsAfterADifferenceAreUnknown) {
  Record r;
  ASSERT_EQ(read("a-1 [000] 1.0: xprt_reserve: task:00000001@00000002 id 5", r), Line::kRecord);
  EXPECT_EQ(r.u32(Field::kTaskId), 1U);
  EXPECT_EQ(r.u32(Field::kClientId), 2U);
  EXPECT_FALSE(r.has(Field::kXid));
}

TEST(TextLine, AnyPrefixOfALineIsHarmless) {
  const std::string line =
      "       mount.nfs-172   [000]    54.241827: xprtrdma_marshal:     task:00000001@00000000 "
      "xid=0x369f4488 hdr=28 xdr=40/0/0 pullup/inline";
  for (std::size_t size = 0; size <= line.size(); ++size) {
    Record r;
    (void)read(line.substr(0, size), r);
  }
}

}  // namespace
}  // namespace rpcrdma::tracepoints
