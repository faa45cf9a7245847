// CM MADs and private data. The expected fields agree with tshark's for the same frames.
#include "messages_for_tests.h"
#include "recording_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

std::string cm_text(const std::vector<std::uint8_t>& mad) {
  std::string out;
  TextSink sink(out);
  decode_cm(mad, sink);
  return out;
}

std::string private_data_text(std::string_view hex) {
  std::string out;
  TextSink sink(out);
  decode_private_data(from_hex(hex), sink);
  return out;
}

TEST(DecodeCm, Req) {
  EXPECT_EQ(cm_text(mad_from_hex(kCmReq)),
            "Communication Management: REQ\n"
            "    Method: 0x03\n"
            "    Status: 0x0000\n"
            "    Transaction ID: 0x000000022e6f5dfa\n"
            "    Message: REQ (0x0010)\n"
            "    Local communication ID: 0xfa5d6f2e\n"
            "    Service ID: 0x0000000001064e51\n"
            "    Service port: 20049\n"
            "    CA GUID: 0x505400fffe770002\n"
            "    Local Q_Key: 0x00000000\n"
            "    Local QPN: 0x000011\n"
            "    Responder resources: 128\n"
            "    Initiator depth: 0\n"
            "    Remote CM response timeout: 20\n"
            "    Transport service: RC (0)\n"
            "    End-to-end flow control: False\n"
            "    Starting PSN: 13219655\n"
            "    Local CM response timeout: 20\n"
            "    Retry count: 6\n"
            "    Partition key: 0xffff\n"
            "    Path MTU: 1024 bytes (3)\n"
            "    RNR retry count: 0\n"
            "    Maximum CM retries: 15\n"
            "    Shared receive queue: False\n"
            "    Primary local GID: ::ffff:10.77.0.2\n"
            "    Primary remote GID: ::ffff:10.77.0.1\n"
            "    Primary hop limit: 64\n"
            "    Primary local ACK timeout: 19\n"
            "    Private data: 0040cfd80000000000000000000000000a4d000200000000... (92 bytes)\n"
            "    IP CM header\n"
            "        IP version: 4\n"
            "        Source port: 53208\n"
            "        Source address: 10.77.0.2\n"
            "        Destination address: 10.77.0.1\n"
            "    RPC-over-RDMA private data: send 4096, receive 4096 bytes, Remote Invalidation\n"
            "        Magic: 0xf6ab0e18\n"
            "        Version: 1\n"
            "        Flags: 0x01\n"
            "        Remote Invalidation supported: True\n"
            "        Send size: 4096\n"
            "        Receive size: 4096\n");
}

TEST(DecodeCm, OffsetsInTheReq) {
  RecordingSink sink;
  decode_cm(mad_from_hex(kCmReq), sink);
  EXPECT_THAT(sink.lines, IsSupersetOf({"cm @0+256", "cm.attribute @16+2", "cm.local_comm_id @24+4",
                                        "cm.qpn @56+3", "cm.psn @68+3", "cm.retry @71+1",
                                        "cm.private_data @164+92", "cm.ip @164+36",
                                        "cm.ip.source @180+4", "rpcrdma.pd @200+8"}));
}

TEST(DecodeCm, Rep) {
  const std::string text = cm_text(mad_from_hex(kCmRep));
  EXPECT_THAT(text, HasSubstr("    Message: REP (0x0013)\n"
                              "    Local communication ID: 0xae570218\n"
                              "    Remote communication ID: 0xfa5d6f2e\n"
                              "    Local Q_Key: 0x00000000\n"
                              "    Local QPN: 0x000011\n"
                              "    Starting PSN: 13046920\n"
                              "    Responder resources: 0\n"
                              "    Initiator depth: 128\n"
                              "    Target ACK delay: 15\n"
                              "    Failover accepted: accepted (0)\n"));
  EXPECT_THAT(text, HasSubstr("    RPC-over-RDMA private data: send 4096, receive 4096 bytes\n"));
}

TEST(DecodeCm, Dreq) {
  EXPECT_THAT(cm_text(mad_from_hex(kCmDreq)), HasSubstr("    Remote QPN: 0x000011\n"));
}

TEST(DecodeCm, Rej) {
  std::vector<std::uint8_t> mad = mad_from_hex(kCmRtu);
  mad[17] = 0x12;       // attribute: REJ
  mad[24 + 8] = 0x40;   // REP rejected
  mad[24 + 9] = 4;      // 2 bytes of additional information
  mad[24 + 11] = 28;    // reason: consumer reject
  mad[24 + 12] = 0xab;  // additional information
  const std::string text = cm_text(mad);
  EXPECT_THAT(text, HasSubstr("    Message rejected: REP (1)\n    Reason: "));
  EXPECT_THAT(text, HasSubstr(" (28)\n    Additional information: ab00 (2 bytes)\n"));
}

TEST(DecodeCm, ForeignPrivateDataIsLeftAsBytes) {
  std::vector<std::uint8_t> mad = mad_from_hex(kCmRep);
  mad[60] = 0;
  EXPECT_THAT(cm_text(mad), Not(HasSubstr("RPC-over-RDMA")));
}

TEST(DecodeCm, MalformedMadShowsItsAttribute) {
  std::vector<std::uint8_t> mad = mad_from_hex(kCmReq);
  mad.resize(100);
  EXPECT_THAT(cm_text(mad), HasSubstr("Communication Management: malformed\n"
                                      "    Message: REQ (0x0010)\n"
                                      "    [Malformed: offset "));
}

TEST(DecodePrivateData, FlagRClear) {
  EXPECT_EQ(private_data_text("f6ab0e18 01 00 00 ff"),
            "RPC-over-RDMA private data: send 1024, receive 262144 bytes\n"
            "    Magic: 0xf6ab0e18\n"
            "    Version: 1\n"
            "    Flags: 0x00\n"
            "    Remote Invalidation supported: False\n"
            "    Send size: 1024\n"
            "    Receive size: 262144\n");
}

TEST(DecodePrivateData, WrongMagic) {
  EXPECT_THAT(private_data_text("f6ab0e19 01 00 00 ff"),
              EndsWith("    Magic: 0xf6ab0e19\n"
                       "    [Malformed: offset 0: magic number is not 0xf6ab0e18 (CMP-01)]\n"));
}

TEST(DecodePrivateData, TooShort) {
  EXPECT_THAT(private_data_text("f6ab"), HasSubstr("(CMP-02)]\n"));
}

}  // namespace
}  // namespace rpcrdma::decode
