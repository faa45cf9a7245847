// RoCE headers: the opcode table, decoding, damaged packets, encoding, and real packets.
#include "roce_for_tests.h"
#include "support/wire_bytes.h"

#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<RocePacket> decode(Bytes packet) {
  return decode_roce(packet, packet.size());
}

auto fields(const RocePacket& p) {
  return std::tuple(
      std::tuple(p.bth.opcode, p.bth.solicited, p.bth.migreq, p.bth.pad_count, p.bth.tver,
                 p.bth.pkey, p.bth.fecn, p.bth.becn, p.bth.dest_qp, p.bth.ack_req, p.bth.psn),
      std::tuple(p.deth.qkey, p.deth.src_qp), std::tuple(p.reth.va, p.reth.rkey, p.reth.dma_length),
      std::tuple(p.aeth.syndrome, p.aeth.msn),
      std::tuple(p.atomic.va, p.atomic.rkey, p.atomic.swap_or_add, p.atomic.compare), p.atomic_ack,
      p.immediate, p.invalidate_key, std::vector(p.payload.begin(), p.payload.end()));
}

// --- Opcodes

TEST(OpcodeInfoTest, KnowsRcUcUdAndCnp) {
  std::set<unsigned> expected = {0x64, 0x65, 0x81};
  for (unsigned opcode = 0x00; opcode <= 0x17; ++opcode) expected.insert(opcode);
  expected.erase(0x15);  // reserved
  for (unsigned opcode = 0x20; opcode <= 0x2b; ++opcode) expected.insert(opcode);
  std::set<unsigned> known;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (opcode_info(static_cast<std::uint8_t>(opcode)).known) known.insert(opcode);
  }
  EXPECT_EQ(known, expected);
}

std::string headers_of(std::uint8_t opcode) {
  const OpcodeInfo& info = opcode_info(opcode);
  std::string text;
  if (info.deth) text += "DETH ";
  if (info.reth) text += "RETH ";
  if (info.atomic) text += "AtomicETH ";
  if (info.aeth) text += "AETH ";
  if (info.atomic_ack) text += "AtomicAckETH ";
  if (info.imm) text += "ImmDt ";
  if (info.ieth) text += "IETH ";
  return text;
}

TEST(OpcodeInfoTest, ExtensionHeadersOfRc) {
  const char* const expected[] = {"",           "",
                                  "",           "ImmDt ",
                                  "",           "ImmDt ",  // SEND
                                  "RETH ",      "",
                                  "",           "ImmDt ",
                                  "RETH ",      "RETH ImmDt ",  // RDMA WRITE
                                  "RETH ",      "AETH ",
                                  "",           "AETH ",
                                  "AETH ",  // RDMA READ
                                  "AETH ",      "AETH AtomicAckETH ",
                                  "AtomicETH ", "AtomicETH ",  // ACK, atomics
                                  "",           "IETH ",
                                  "IETH "};
  std::uint8_t opcode = 0;
  for (const char* headers : expected) EXPECT_EQ(headers_of(opcode++), headers) << int{opcode};
}

TEST(OpcodeInfoTest, ExtensionHeadersOfUd) {
  EXPECT_EQ(headers_of(0x64), "DETH ");
  EXPECT_EQ(headers_of(0x65), "DETH ImmDt ");
}

TEST(OpcodeInfoTest, UcIsRcWithoutReadsAndAcks) {
  for (std::uint8_t operation = 0; operation <= 0x0b; ++operation) {
    const OpcodeInfo& rc = opcode_info(operation);
    const OpcodeInfo& uc = opcode_info(static_cast<std::uint8_t>(0x20 | operation));
    EXPECT_EQ(headers_of(static_cast<std::uint8_t>(0x20 | operation)), headers_of(operation));
    EXPECT_EQ(uc.name, std::string("UC ") + rc.name);
    EXPECT_EQ(std::tuple(uc.request, uc.response, uc.send, uc.write, uc.first, uc.last),
              std::tuple(rc.request, rc.response, rc.send, rc.write, rc.first, rc.last));
  }
}

TEST(OpcodeInfoTest, PlaceInTheMessageAgreesWithTheName) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    if (!info.known || opcode == static_cast<unsigned>(Opcode::kCnp)) continue;
    const std::string name = info.name;
    const auto says = [&name](const char* word) { return name.find(word) != std::string::npos; };
    const bool middle = says("Middle");
    EXPECT_EQ(info.first, !middle && !says("Last")) << name;
    EXPECT_EQ(info.last, !middle && !says("First")) << name;
    EXPECT_EQ(info.send, says("SEND")) << name;
    EXPECT_EQ(info.write, says("WRITE")) << name;
    EXPECT_EQ(info.read_response, says("READ Response")) << name;
    EXPECT_EQ(info.response, says("Response") || says("ACK")) << name;
    EXPECT_NE(info.request, info.response) << name;
  }
}

TEST(OpcodeInfoTest, CnpIsNeitherRequestNorResponse) {
  const OpcodeInfo& cnp = opcode_info(static_cast<std::uint8_t>(Opcode::kCnp));
  EXPECT_STREQ(cnp.name, "CNP");
  EXPECT_FALSE(cnp.request || cnp.response || cnp.first || cnp.last);
}

TEST(OpcodeInfoTest, Names) {
  EXPECT_STREQ(opcode_info(0x00).name, "SEND First");
  EXPECT_STREQ(opcode_info(0x0a).name, "RDMA WRITE Only");
  EXPECT_STREQ(opcode_info(0x0c).name, "RDMA READ Request");
  EXPECT_STREQ(opcode_info(0x0e).name, "RDMA READ Response Middle");
  EXPECT_STREQ(opcode_info(0x11).name, "ACK");
  EXPECT_STREQ(opcode_info(0x17).name, "SEND Only with Invalidate");
  EXPECT_STREQ(opcode_info(0x64).name, "UD SEND Only");
  EXPECT_STREQ(opcode_info(0x15).name, "unknown");
}

TEST(OpcodeInfoTest, XrcHasNamesOnly) {
  for (std::uint8_t operation = 0; operation <= 0x17; ++operation) {
    if (operation == 0x15) continue;
    const OpcodeInfo& xrc = opcode_info(static_cast<std::uint8_t>(0xa0 | operation));
    EXPECT_EQ(xrc.name, std::string("XRC ") + opcode_info(operation).name);
    EXPECT_FALSE(xrc.known);
  }
}

// --- Decoding

TEST(DecodeRoceTest, EveryFieldOfTheBth) {
  // Opcode 04; solicited 1, migreq 0, pad 01, version 0101; P_Key; FECN 0, BECN 1; QP; ack 1; PSN.
  const auto bytes = hex("04 95 8001 40 0a0b0c 80 0d0e0f 61626300 d4c3b2a1");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  const Bth& bth = packet->bth;
  EXPECT_EQ(bth.opcode, 0x04);
  EXPECT_TRUE(bth.solicited);
  EXPECT_FALSE(bth.migreq);
  EXPECT_EQ(bth.pad_count, 1);
  EXPECT_EQ(bth.tver, 5);
  EXPECT_EQ(bth.pkey, 0x8001);
  EXPECT_FALSE(bth.fecn);
  EXPECT_TRUE(bth.becn);
  EXPECT_EQ(bth.dest_qp, 0x0a0b0cU);
  EXPECT_TRUE(bth.ack_req);
  EXPECT_EQ(bth.psn, 0x0d0e0fU);
  EXPECT_THAT(packet->payload, ElementsAre(0x61, 0x62, 0x63));
  EXPECT_EQ(packet->icrc, 0xa1b2c3d4U);
}

TEST(DecodeRoceTest, TheOtherFlagsOfTheBth) {
  const auto bytes = hex("04 40 ffff 80 000000 7f 000000 00000000");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_FALSE(packet->bth.solicited);
  EXPECT_TRUE(packet->bth.migreq);
  EXPECT_TRUE(packet->bth.fecn);
  EXPECT_FALSE(packet->bth.becn);
  EXPECT_FALSE(packet->bth.ack_req);  // only the highest bit of its byte
}

constexpr const char* kIcrc = "01020304";

std::vector<std::uint8_t> packet_bytes(const std::string& opcode, const std::string& rest) {
  return hex(opcode + "00 ffff 00 000011 00 000007" + rest + kIcrc);
}

TEST(DecodeRoceTest, Reth) {
  const auto bytes = packet_bytes("0c", "f222da5eca71a000 00000c1e 00008000");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->reth.va, 0xf222da5eca71a000U);
  EXPECT_EQ(packet->reth.rkey, 0xc1eU);
  EXPECT_EQ(packet->reth.dma_length, 0x8000U);
  EXPECT_THAT(packet->payload, IsEmpty());
}

TEST(DecodeRoceTest, ImmediateStandsBehindTheReth) {
  const auto bytes = packet_bytes("0b", "0000000000000001 00000002 00000004 0a0b0c0d 61626364");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->reth.dma_length, 4U);
  EXPECT_EQ(packet->immediate, 0x0a0b0c0dU);
  EXPECT_THAT(packet->payload, ElementsAre(0x61, 0x62, 0x63, 0x64));
}

TEST(DecodeRoceTest, Ieth) {
  const auto bytes = packet_bytes("17", "00000c1c 61626364");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->invalidate_key, 0xc1cU);
  EXPECT_THAT(packet->payload, ElementsAre(0x61, 0x62, 0x63, 0x64));
}

TEST(DecodeRoceTest, Deth) {
  const auto bytes = packet_bytes("65", "80010000 ff 000001 0a0b0c0d");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->deth.qkey, 0x80010000U);
  EXPECT_EQ(packet->deth.src_qp, 1U);  // without the reserved byte before it
  EXPECT_EQ(packet->immediate, 0x0a0b0c0dU);
}

TEST(DecodeRoceTest, AtomicEth) {
  const auto bytes =
      packet_bytes("13", "0102030405060708 090a0b0c 1112131415161718 2122232425262728");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->atomic.va, 0x0102030405060708U);
  EXPECT_EQ(packet->atomic.rkey, 0x090a0b0cU);
  EXPECT_EQ(packet->atomic.swap_or_add, 0x1112131415161718U);
  EXPECT_EQ(packet->atomic.compare, 0x2122232425262728U);
}

TEST(DecodeRoceTest, AtomicAck) {
  const auto bytes = packet_bytes("12", "1f 000003 3132333435363738");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->aeth.msn, 3U);
  EXPECT_EQ(packet->atomic_ack, 0x3132333435363738U);
}

TEST(DecodeRoceTest, CnpHasReservedBytesForAPayload) {
  const auto bytes = packet_bytes("81", "00000000 00000000 00000000 00000000");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->payload.size(), 16U);
}

TEST(DecodeRoceTest, AnUnknownOpcodeIsABthAndAPayload) {
  const auto bytes = packet_bytes("ac", "00000001 00000002");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->bth.dest_qp, 0x11U);
  EXPECT_THAT(packet->payload, ElementsAre(0, 0, 0, 1, 0, 0, 0, 2));
}

TEST(DecodeRoceTest, ThePayloadPointsIntoThePacket) {
  const auto bytes = packet_bytes("04", "61626364");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->payload.data(), bytes.data() + 12);
}

TEST(DecodeRoceTest, BytesBeyondTheWireLengthAreNotLookedAt) {
  const auto bytes = packet_bytes("04", "61626364");
  auto longer = bytes;
  longer.insert(longer.end(), {9, 9, 9, 9, 9});
  const auto packet = decode_roce(longer, bytes.size());
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->payload.size(), 4U);
  EXPECT_EQ(packet->icrc, 0x04030201U);
}

// --- Syndromes

TEST(AethTest, Ack) {
  const auto bytes = packet_bytes("11", "1f 00000a");
  const auto packet = decode(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_TRUE(packet->aeth.is_ack());
  EXPECT_FALSE(packet->aeth.is_rnr() || packet->aeth.is_nak());
  EXPECT_EQ(packet->aeth.value(), 31);
  EXPECT_EQ(packet->aeth.msn, 10U);
}

TEST(AethTest, RnrNak) {
  constexpr Aeth aeth{0x2e, 0};  // 001 01110
  EXPECT_TRUE(aeth.is_rnr());
  EXPECT_FALSE(aeth.is_ack() || aeth.is_nak());
  EXPECT_EQ(rnr_timer_ns(aeth.value()), 1'280'000U);
}

TEST(AethTest, Nak) {
  constexpr Aeth aeth{0x62, 0};  // 011 00010
  EXPECT_TRUE(aeth.is_nak());
  EXPECT_FALSE(aeth.is_ack() || aeth.is_rnr());
  EXPECT_STREQ(nak_name(aeth.value()), "Remote Access Error");
}

TEST(NakNameTest, EveryCode) {
  EXPECT_STREQ(nak_name(0), "PSN Sequence Error");
  EXPECT_STREQ(nak_name(1), "Invalid Request");
  EXPECT_STREQ(nak_name(3), "Remote Operational Error");
  EXPECT_STREQ(nak_name(4), "Invalid RD Request");
  EXPECT_STREQ(nak_name(5), "unknown");
}

TEST(RnrTimerTest, EveryCode) {
  const double milliseconds[] = {655.36, 0.01,  0.02,  0.03,   0.04,   0.06,   0.08,   0.12,
                                 0.16,   0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
                                 2.56,   3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
                                 40.96,  61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};
  std::uint8_t code = 0;
  for (const double ms : milliseconds) {
    EXPECT_DOUBLE_EQ(static_cast<double>(rnr_timer_ns(code)) / 1e6, ms) << int{code};
    ++code;
  }
}

// --- Packets cut short by the capture

TEST(DecodeRoceTest, ACutCaptureGivesThePayloadThatItHas) {
  auto bytes = packet_bytes("0a", "0000000000000001 00000002 00000008 6162636465666768");
  const std::size_t wire_length = bytes.size();
  bytes.resize(12 + 16 + 3);
  const auto packet = decode_roce(bytes, wire_length);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->reth.rkey, 2U);
  EXPECT_THAT(packet->payload, ElementsAre(0x61, 0x62, 0x63));
  EXPECT_EQ(packet->icrc, 0U);
}

TEST(DecodeRoceTest, ACutCaptureMayEndWithTheHeaders) {
  auto bytes = packet_bytes("11", "1f 00000a");
  const std::size_t wire_length = bytes.size();
  bytes.resize(16);
  const auto packet = decode_roce(bytes, wire_length);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->aeth.msn, 10U);
  EXPECT_THAT(packet->payload, IsEmpty());
}

TEST(DecodeRoceTest, ACaptureCutInThePadDoesNotTakeItForPayload) {
  auto bytes = hex("04 30 ffff 00 000011 00 000007 61000000 01020304");
  const std::size_t wire_length = bytes.size();
  bytes.resize(15);
  const auto packet = decode_roce(bytes, wire_length);
  ASSERT_TRUE(packet.has_value());
  EXPECT_THAT(packet->payload, ElementsAre(0x61));
}

TEST(DecodeRoceTest, ACaptureCutInTheIcrcHasNone) {
  auto bytes = packet_bytes("04", "61626364");
  const std::size_t wire_length = bytes.size();
  bytes.pop_back();
  const auto packet = decode_roce(bytes, wire_length);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->payload.size(), 4U);
  EXPECT_EQ(packet->icrc, 0U);
}

TEST(DecodeRoceTest, AHugeWireLengthIsOnlyALength) {
  const auto bytes = packet_bytes("04", "61626364");
  const auto packet = decode_roce(bytes, SIZE_MAX - 3);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->payload.size(), 8U);
}

// --- Packets that do not decode

TEST(DecodeRoceTest, EndsInTheBth) {
  for (std::size_t size = 0; size < 12; ++size) {
    const auto bytes = hex("04 00 ffff 00 000011 00 000007");
    expect_error(decode_roce(Bytes(bytes).first(size), 100), Errc::kTruncated, 0, "IBA 9.2");
  }
}

TEST(DecodeRoceTest, NamesTheFirstHeaderThatIsNotThere) {
  const auto bytes = packet_bytes("0b", "0000000000000001 00000002 00000004 0a0b0c0d 61626364");
  expect_error(decode_roce(Bytes(bytes).first(27), bytes.size()), Errc::kTruncated, 12, "IBA 9.3");
  expect_error(decode_roce(Bytes(bytes).first(31), bytes.size()), Errc::kTruncated, 28, "IBA 9.3");
}

TEST(DecodeRoceTest, AWireLengthWithoutRoomForTheIcrc) {
  const auto bytes = packet_bytes("11", "1f 00000a");
  expect_error(decode_roce(bytes, 16), Errc::kTruncated, 16, "IBA 7.8.1");
}

TEST(DecodeRoceTest, MorePadThanPayload) {
  const auto bytes = hex("04 10 ffff 00 000011 00 000007 01020304");
  expect_error(decode(bytes), Errc::kBadValue, 1, "IBA 9.2");
  EXPECT_STREQ(decode(bytes).error().what, "pad count is over the length of the payload");
}

TEST(DecodeRoceTest, ALengthThatIsNotAMultipleOfFour) {
  const auto bytes = hex("04 00 ffff 00 000011 00 000007 61 01020304");
  expect_error(decode(bytes), Errc::kBadValue, 1, "IBA 9.2");
  EXPECT_STREQ(decode(bytes).error().what, "payload and pad bytes are not a multiple of 4");
}

TEST(DecodeRoceTest, EveryTruncationOfEveryOpcodeIsAnErrorOrFits) {
  std::mt19937 random(1);
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    for (std::size_t size = 0; size < 64; ++size) {
      // The buffer has exactly this size, so that AddressSanitizer detects a read of one byte too
      // many.
      std::vector<std::uint8_t> bytes(size);
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
      if (size > 0) bytes[0] = static_cast<std::uint8_t>(opcode);
      for (const std::size_t wire_length : {size, size + 1, size + 4, std::size_t{64}}) {
        const auto packet = decode_roce(bytes, wire_length);
        if (packet) {
          ASSERT_GE(packet->payload.data(), bytes.data() + 12);
          ASSERT_LE(packet->payload.data() + packet->payload.size(), bytes.data() + size);
        } else {
          ASSERT_LE(packet.error().offset, size);
        }
      }
    }
  }
}

// --- Encoding

TEST(EncodeRoceTest, WriteOnlyWithPad) {
  const auto payload = hex("616263");
  RocePacket packet;
  packet.bth.opcode = 0x0a;
  packet.bth.solicited = true;
  packet.bth.migreq = true;
  packet.bth.tver = 5;
  packet.bth.pkey = 0x8001;
  packet.bth.becn = true;
  packet.bth.dest_qp = 0x0a0b0c;
  packet.bth.ack_req = true;
  packet.bth.psn = 0x0d0e0f;
  packet.reth = {0xf222da5eca71a000, 0xc1e, 3};
  packet.payload = payload;
  std::vector<std::uint8_t> out(40, 0xee);
  ASSERT_EQ(encode_roce(packet, out), encoded_size(packet));
  out.resize(encoded_size(packet));
  EXPECT_EQ(out, hex("0a d5 8001 40 0a0b0c 80 0d0e0f f222da5eca71a000 00000c1e 00000003 61626300"));
}

TEST(EncodeRoceTest, ThePadCountFollowsFromThePayload) {
  for (std::size_t size = 0; size < 9; ++size) {
    const std::vector<std::uint8_t> payload(size, 0x61);
    RocePacket packet;
    packet.bth.opcode = 0x04;
    packet.bth.pad_count = 2;
    packet.payload = payload;
    std::vector<std::uint8_t> out(32);
    const auto written = encode_roce(packet, out);
    ASSERT_TRUE(written.has_value());
    EXPECT_EQ(*written, 12 + (size + 3) / 4 * 4);
    EXPECT_EQ(out[1], (*written - 12 - size) << 4);
  }
}

TEST(EncodeRoceTest, WritesTheLowBitsOfWhatIsTooWide) {
  RocePacket packet;
  packet.bth.opcode = 0x64;
  packet.bth.tver = 0xf1;
  packet.bth.dest_qp = 0xff000001;
  packet.bth.psn = 0xff000002;
  packet.deth.src_qp = 0xff000003;
  std::vector<std::uint8_t> out(20);
  ASSERT_TRUE(encode_roce(packet, out).has_value());
  EXPECT_EQ(out, hex("64 01 ffff 00 000001 00 000002 00000000 00 000003"));
}

TEST(EncodeRoceTest, WritesNothingWhereThePacketDoesNotFit) {
  RocePacket packet;
  packet.bth.opcode = 0x11;
  std::vector<std::uint8_t> out(15, 0xee);
  expect_error(encode_roce(packet, out), Errc::kNoSpace, 15, "");
  EXPECT_EQ(out, std::vector<std::uint8_t>(15, 0xee));
}

RocePacket random_packet(std::mt19937_64& random, std::uint8_t opcode, Bytes payload) {
  const OpcodeInfo& info = opcode_info(opcode);
  const auto u24 = [&random] { return static_cast<std::uint32_t>(random() & 0xffffff); };
  const auto u32 = [&random] { return static_cast<std::uint32_t>(random()); };
  const auto flag = [&random] { return (random() & 1) != 0; };
  RocePacket p;
  p.bth.opcode = opcode;
  p.bth.solicited = flag();
  p.bth.migreq = flag();
  p.bth.pad_count = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
  p.bth.tver = random() & 0xf;
  p.bth.pkey = random() & 0xffff;
  p.bth.fecn = flag();
  p.bth.becn = flag();
  p.bth.dest_qp = u24();
  p.bth.ack_req = flag();
  p.bth.psn = u24();
  if (info.deth) p.deth = {u32(), u24()};
  if (info.reth) p.reth = {random(), u32(), u32()};
  if (info.aeth) p.aeth = {static_cast<std::uint8_t>(random() & 0xff), u24()};
  if (info.atomic) p.atomic = {random(), u32(), random(), random()};
  if (info.atomic_ack) p.atomic_ack = random();
  if (info.imm) p.immediate = u32();
  if (info.ieth) p.invalidate_key = u32();
  p.payload = payload;
  return p;
}

TEST(RocePropertyTest, WhatIsEncodedDecodesToTheSame) {
  std::mt19937_64 random(20);
  std::vector<std::uint8_t> payload(70);
  std::iota(payload.begin(), payload.end(), std::uint8_t{1});
  for (int i = 0; i < 20'000; ++i) {
    const RocePacket packet = random_packet(random, static_cast<std::uint8_t>(random() & 0xff),
                                            Bytes(payload).first(random() % payload.size()));
    std::vector<std::uint8_t> bytes(encoded_size(packet) + kIcrcBytes);
    ASSERT_EQ(encode_roce(packet, bytes), bytes.size() - kIcrcBytes);
    store_icrc(bytes.data() + bytes.size() - kIcrcBytes, 0x01020304);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.has_value());
    ASSERT_EQ(fields(*decoded), fields(packet));
    ASSERT_EQ(decoded->icrc, 0x01020304U);
  }
}

// --- Real packets

class RoceCaptureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RoceCaptureTest, EveryPacketDecodesAndEncodesToTheSameBytes) {
  const auto packets = roce_packets(GetParam());
  ASSERT_THAT(packets, Not(IsEmpty()));
  for (const CapturedPacket& captured : packets) {
    const Bytes wire = captured.transport();
    const auto packet = decode(wire);
    ASSERT_TRUE(packet.has_value()) << captured.frame << ": " << describe(packet.error());
    ASSERT_TRUE(opcode_info(packet->bth.opcode).known) << captured.frame;
    std::vector<std::uint8_t> again(wire.size());
    ASSERT_EQ(encode_roce(*packet, again), wire.size() - kIcrcBytes) << captured.frame;
    store_icrc(again.data() + wire.size() - kIcrcBytes, packet->icrc);
    std::vector<std::uint8_t> expected(wire.begin(), wire.end());
    expected[4] &= 0xc0;  // FECN and BECN; one sender sets the reserved bits
    ASSERT_EQ(again, expected) << captured.frame;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RoceCaptureTest,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap",
                                           "linux-deleg.pcap", "linux-non-rpc.pcap",
                                           "roce-icrc-oracle.pcap"));

}  // namespace
}  // namespace rpcrdma::wire
