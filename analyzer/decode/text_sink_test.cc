#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/decode/text_sink.h>

namespace rpcrdma::decode {
namespace {

TEST(TextSink, ChildrenAreIndented) {
  std::string out;
  TextSink sink(out);
  sink.open(FieldId::kTransport, 0, 28, "version 1");
  sink.number(FieldId::kCredit, 8, 4, 128, nullptr);
  sink.close();
  sink.number(FieldId::kCredit, 8, 4, 64, nullptr);
  EXPECT_EQ(out,
            "RPC-over-RDMA: version 1\n"
            "    Credit value: 128\n"
            "Credit value: 64\n");
}

TEST(TextSink, BeginsAtTheDepthThatIsAskedFor) {
  std::string out;
  TextSink sink(out, 1);
  sink.open(FieldId::kTransport, 0, 28, "");
  EXPECT_EQ(out, "    RPC-over-RDMA\n");
}

TEST(TextSink, BracketsWhatIsNotInTheBytes) {
  std::string out;
  TextSink sink(out);
  sink.number(FieldId::kRpcProcedure, 0, 0, 1, "GETATTR");
  EXPECT_EQ(out, "[Procedure: GETATTR (1)]\n");
}

TEST(TextSink, LongBytesAreCutOffAndCounted) {
  std::string out;
  TextSink sink(out);
  const std::vector<std::uint8_t> bytes(25, 0xab);
  sink.bytes(FieldId::kPayload, 0, 24, std::span(bytes).first(24));
  sink.bytes(FieldId::kPayload, 0, 25, bytes);
  sink.bytes(FieldId::kPayload, 0, 0, {});
  std::string digits;
  for (int i = 0; i < 24; ++i) digits += "ab";
  EXPECT_EQ(out, "Payload: " + digits + " (24 bytes)\nPayload: " + digits +
                     "... (25 bytes)\nPayload: (0 bytes)\n");
}

TEST(TextSink, TextCannotReachTheTerminal) {
  std::string out;
  TextSink sink(out);
  sink.text(FieldId::kAuthSysMachine, 0, 9, "a\x1b[2J\r\n\\\x9b");
  EXPECT_EQ(out, "Machine name: a\\x1b[2J\\x0d\\x0a\\\\\\x9b\n");
}

TEST(TextSink, EmptyTextOfTheWireIsNotBracketed) {
  std::string out;
  TextSink sink(out);
  sink.text(FieldId::kAuthSysMachine, 40, 0, "");
  sink.text(FieldId::kPeer, 0, 0, "client");
  EXPECT_EQ(out, "Machine name\n[Sent by: client]\n");
}

TEST(TextSink, ErrorNamesOffsetAndRule) {
  std::string out;
  TextSink sink(out);
  sink.error({wire::Errc::kBadValue, 12, "HDR-05", "rdma_proc is not one of 0..4"});
  EXPECT_EQ(out, "[Malformed: offset 12: rdma_proc is not one of 0..4 (HDR-05)]\n");
}

// As tshark -x prints the first 20 bytes of an Ethernet frame.
TEST(HexDump, SixteenBytesALine) {
  const std::array<std::uint8_t, 20> data{0x52, 0x54, 0x00, 0x77, 0x00, 0x01, 0x52,
                                          0x54, 0x00, 0x77, 0x00, 0x02, 0x08, 0x00,
                                          0x45, 0x00, 0x00, 0x70, 0xb1, 0x76};
  EXPECT_EQ(hex_dump(data),
            "0000  52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00   RT.w..RT.w....E.\n"
            "0010  00 70 b1 76                                       .p.v\n");
}

TEST(HexDump, OfNothingIsEmpty) {
  EXPECT_EQ(hex_dump({}), "");
}

}  // namespace
}  // namespace rpcrdma::decode
