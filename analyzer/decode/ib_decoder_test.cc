// InfiniBand transport headers; the expected offsets follow from the headers' lengths (IBA volume 1
// chapter 9).
#include "recording_sink.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string transport_text(const wire::RocePacket& packet) {
  std::string out;
  TextSink sink(out);
  decode_transport(packet, sink);
  return out;
}

std::vector<std::string> transport_lines(const wire::RocePacket& packet) {
  RecordingSink sink;
  decode_transport(packet, sink);
  return sink.lines;
}

wire::RocePacket packet_of(wire::Opcode opcode) {
  wire::RocePacket packet;
  packet.bth.opcode = static_cast<std::uint8_t>(opcode);
  packet.bth.dest_qp = 0x11;
  packet.bth.psn = 7;
  return packet;
}

TEST(DecodeTransport, WriteOnlyWithPad) {
  static constexpr std::array<std::uint8_t, 3> kPayload{1, 2, 3};
  wire::RocePacket packet = packet_of(wire::Opcode::kWriteOnly);
  packet.bth.pad_count = 1;
  packet.bth.ack_req = true;
  packet.reth = {0xf222da5eca71a000, 0xc1e, 3};
  packet.payload = kPayload;
  packet.icrc = 0x12345678;
  EXPECT_THAT(transport_lines(packet),
              AllOf(Contains("ib @0+28"), Contains("ib.psn @9+3"), Contains("ib.reth.va @12+8"),
                    Contains("ib.reth.rkey @20+4"), Contains("ib.reth.dma_length @24+4"),
                    Contains("ib.payload @28+3"), Contains("ib.icrc @32+4")));
  EXPECT_THAT(transport_text(packet), HasSubstr("    Destination QP: 0x000011\n"
                                                "    Acknowledge request: True\n"
                                                "    PSN: 7\n"
                                                "    Virtual address: 0xf222da5eca71a000\n"
                                                "    R_Key: 0x00000c1e\n"
                                                "    DMA length: 3\n"
                                                "Payload: 010203 (3 bytes)\n"
                                                "Invariant CRC: 0x12345678\n"));
}

TEST(DecodeTransport, SendWithInvalidate) {
  wire::RocePacket packet = packet_of(wire::Opcode::kSendOnlyInv);
  packet.invalidate_key = 0xc1c;
  EXPECT_THAT(transport_lines(packet), Contains("ib.invalidate_key @12+4"));
}

TEST(DecodeTransport, ImmediateStandsBehindTheReth) {
  EXPECT_THAT(transport_lines(packet_of(wire::Opcode::kWriteOnlyImm)),
              Contains("ib.immediate @28+4"));
}

TEST(DecodeTransport, Deth) {
  EXPECT_THAT(transport_lines(packet_of(wire::Opcode::kUdSendOnly)),
              AllOf(Contains("ib.qkey @12+4"), Contains("ib.src_qp @17+3")));
}

TEST(DecodeTransport, Atomics) {
  EXPECT_THAT(transport_lines(packet_of(wire::Opcode::kCompareSwap)),
              AllOf(Contains("ib.atomic.va @12+8"), Contains("ib.atomic.rkey @20+4"),
                    Contains("ib.atomic.swap_or_add @24+8"), Contains("ib.atomic.compare @32+8")));
  EXPECT_THAT(transport_lines(packet_of(wire::Opcode::kAtomicAck)),
              AllOf(Contains("ib.syndrome @12+1"), Contains("ib.atomic.original @16+8")));
}

TEST(DecodeTransport, AckHasCredits) {
  wire::RocePacket packet = packet_of(wire::Opcode::kAck);
  packet.aeth = {0x1f, 3};
  EXPECT_THAT(transport_text(packet), HasSubstr("    Syndrome: 0x1f\n"
                                                "    Credit count code: 31\n"
                                                "    MSN: 3\n"));
}

TEST(DecodeTransport, NakHasACode) {
  wire::RocePacket packet = packet_of(wire::Opcode::kAck);
  packet.aeth = {0x62, 3};
  EXPECT_THAT(transport_text(packet),
              AllOf(HasSubstr("    NAK code: "), HasSubstr(" (2)\n"), Not(HasSubstr("RNR timer")),
                    Not(HasSubstr("Credit count"))));
}

TEST(DecodeTransport, RnrNakHasATimer) {
  wire::RocePacket packet = packet_of(wire::Opcode::kAck);
  packet.aeth = {0x21, 3};  // code 1: 0.01 ms
  EXPECT_THAT(transport_text(packet), HasSubstr("    RNR timer: 0.000010000 seconds\n"));
}

TEST(DecodeTransport, IcrcThatWasCutOffIsNotShown) {
  EXPECT_THAT(transport_text(packet_of(wire::Opcode::kSendOnly)), Not(HasSubstr("Invariant CRC")));
}

}  // namespace
}  // namespace rpcrdma::decode
