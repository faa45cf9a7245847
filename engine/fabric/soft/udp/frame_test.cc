// Framing of packets and the check of their ICRC, with known and unknown IPv4 identifications.
#include "rc/packet_for_tests.h"

#include <algorithm>

#include <gmock/gmock.h>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft {
namespace {

using fabric::make_ipv4;
using testing::ElementsAreArray;

const fabric::Address kFe1 = *fabric::parse_address("fe80::5054:ff:fe77:1");
const fabric::Address kFe2 = *fabric::parse_address("fe80::5054:ff:fe77:2");
const Path kPath4{make_ipv4(10, 77, 0, 2), make_ipv4(10, 77, 0, 1), 0xd872};
const Path kPath6{kFe2, kFe1, 0xd872};

Path seen_by_the_peer(const Path& path) {
  return {path.remote, path.local, path.udp_source_port};
}

OutPacket ack(const Path& path) {
  OutPacket packet;
  packet.path = &path;
  const auto bytes = hex("11 00 ffff 40 000012 00 000007 1f000003");
  std::copy(bytes.begin(), bytes.end(), packet.header.begin());
  packet.header_bytes = 16;
  return packet;
}

std::vector<std::uint8_t> framed(const OutPacket& packet, std::uint16_t ip_id) {
  std::vector<std::uint8_t> bytes(packet.size() + 4);
  EXPECT_EQ(frame(packet, ip_id, bytes), bytes.size());
  return bytes;
}

// The CRC-32 by zlib over eight bytes of ff and
//   45ff0030 b171 4000 ff11ffff 0a4d0002 0a4d0001 d87212b7 001cffff, the ACK with ff in resv8a;
// over IPv6 over 6fffffff 001c 11 ff, the addresses, the same UDP header and ACK.
TEST(Frame, GoldenBytes) {
  EXPECT_THAT(framed(ack(kPath4), 0xb171),
              ElementsAreArray(hex("11 00 ffff 40 000012 00 000007 1f000003 a0bb6ed6")));
  EXPECT_THAT(framed(ack(kPath6), 0),
              ElementsAreArray(hex("11 00 ffff 40 000012 00 000007 1f000003 7bccedf9")));
}

TEST(Frame, PartsAndPadBytesBecomeOne) {
  const auto first = hex("0102030405"), second = hex("0607");
  OutPacket packet = send_only(kPath4, first, 9);
  packet.payload_parts = 3;
  packet.payload[1] = {};
  packet.payload[2] = second;
  packet.payload_bytes = 7;
  packet.pad_bytes = 1;
  packet.header[1] = 0x10;
  std::vector<std::uint8_t> bytes(64, 0xee);
  ASSERT_EQ(frame(packet, 0, bytes), 24U);
  const auto body = hex("04 10 ffff 00 000012 80 000009 01020304050607 00");
  EXPECT_THAT(std::vector(bytes.begin(), bytes.begin() + 20), ElementsAreArray(body));
  EXPECT_EQ(bytes[24], 0xee);
}

TEST(Frame, AroundThePayloadLeavesItsPlace) {
  for (const Path& path : {kPath4, kPath6}) {
    for (const std::size_t size : {0U, 1U, 4U, 1023U, 4096U}) {
      const auto payload = pattern(size, 3);
      const OutPacket packet = send_only(path, payload, 9);
      auto expected = framed(packet, 5);
      std::fill_n(expected.begin() + 12, size, std::uint8_t{0xee});
      std::vector<std::uint8_t> bytes(expected.size(), 0xee);
      ASSERT_EQ(frame_around(packet, path, 5, bytes), bytes.size());
      EXPECT_EQ(bytes, expected) << size;
      bytes.pop_back();
      EXPECT_EQ(frame_around(packet, path, 5, bytes), 0U);
    }
  }
}

TEST(Frame, NothingIsWrittenWhereThereIsNoRoom) {
  const OutPacket packet = ack(kPath4);
  std::vector<std::uint8_t> bytes(19, 0xee);
  EXPECT_EQ(frame(packet, 0, bytes), 0U);
  EXPECT_THAT(bytes, testing::Each(0xee));
  EXPECT_EQ(frame(packet, 0, {}), 0U);
}

TEST(Frame, LongerThanADatagramCannotBe) {
  const auto payload = pattern(65507 - 12 - 4, 1);
  std::vector<std::uint8_t> bytes(70000);
  OutPacket packet = send_only(kPath4, payload, 1);
  packet.pad_bytes = 0;
  EXPECT_EQ(frame(packet, 0, bytes), 65507U);
  packet.pad_bytes = 1;
  EXPECT_EQ(frame(packet, 0, bytes), 0U);
}

TEST(Frame, AnotherPathThanThePackets) {
  std::vector<std::uint8_t> bytes(20);
  ASSERT_EQ(frame(ack(kPath6), kPath4, 0xb171, bytes), 20U);
  EXPECT_THAT(bytes, ElementsAreArray(framed(ack(kPath4), 0xb171)));
}

TEST(Frame, AgainWithAnotherIdentification) {
  auto bytes = framed(ack(kPath4), 0xb171);
  frame_again(kPath4, 3, bytes);
  EXPECT_THAT(bytes, ElementsAreArray(framed(ack(kPath4), 3)));
}

TEST(CheckIcrc, OfAKnownIdentification) {
  auto bytes = framed(ack(kPath4), 0xb171);
  const Path path = seen_by_the_peer(kPath4);
  EXPECT_EQ(check_icrc(path, bytes, 0xb171), IcrcCheck::kGood);
  EXPECT_EQ(check_icrc(path, bytes, 0xb172), IcrcCheck::kBad);
  bytes[7] ^= 1;
  EXPECT_EQ(check_icrc(path, bytes, 0xb171), IcrcCheck::kBad);
}

TEST(CheckIcrc, ThoseOfOurOwnSenderAreTried) {
  const Path path = seen_by_the_peer(kPath4);
  for (std::size_t size = 0; size < 4200; size += 13) {
    const auto payload = pattern(size, 3);
    for (const std::uint16_t id : std::vector<std::uint16_t>{0, 1, 17, 63}) {
      const auto bytes = framed(send_only(kPath4, payload, 1), id);
      ASSERT_EQ(check_icrc(path, bytes, std::nullopt), IcrcCheck::kGood) << size << " " << id;
    }
    for (const std::uint16_t id : std::vector<std::uint16_t>{64, 0x8000, 0xffff}) {
      const auto bytes = framed(send_only(kPath4, payload, 1), id);
      ASSERT_EQ(check_icrc(path, bytes, std::nullopt), IcrcCheck::kUnchecked) << size << " " << id;
    }
  }
}

TEST(CheckIcrc, OverIpv4NoIdentificationExplainsADamagedOne) {
  const auto good = framed(ack(kPath4), 0);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    if (bit / 8 == 4) continue;  // resv8a is not covered
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_EQ(check_icrc(seen_by_the_peer(kPath4), bytes, std::nullopt), IcrcCheck::kBad);
  }
}

// By hand: the bytes of a sender that does not set don't-fragment.
TEST(CheckIcrc, OverIpv4AStrangersFlagIsNoDamage) {
  auto bytes = framed(ack(kPath4), 0x1234);
  const std::size_t covered = bytes.size() - wire::kIcrcBytes;
  std::vector<std::uint8_t> whole(28 + covered);
  whole[0] = 0x45;
  const auto length = static_cast<std::uint16_t>(28 + bytes.size());
  whole[2] = static_cast<std::uint8_t>(length >> 8);
  whole[3] = static_cast<std::uint8_t>(length);
  whole[4] = 0x12;
  whole[5] = 0x34;
  whole[9] = 17;
  std::copy_n(kPath4.local.bytes.begin(), 4, whole.begin() + 12);
  std::copy_n(kPath4.remote.bytes.begin(), 4, whole.begin() + 16);
  whole[20] = static_cast<std::uint8_t>(kPath4.udp_source_port >> 8);
  whole[21] = static_cast<std::uint8_t>(kPath4.udp_source_port);
  whole[22] = 4791 >> 8;
  whole[23] = 4791 & 0xff;
  const auto udp = static_cast<std::uint16_t>(8 + bytes.size());
  whole[24] = static_cast<std::uint8_t>(udp >> 8);
  whole[25] = static_cast<std::uint8_t>(udp);
  std::copy_n(bytes.begin(), covered, whole.begin() + 28);
  wire::store_icrc(bytes.data() + covered, wire::icrc(wire::IcrcKind::kRoceV2Ipv4, whole, 28));
  EXPECT_EQ(check_icrc(seen_by_the_peer(kPath4), bytes, std::nullopt), IcrcCheck::kUnchecked);
}

TEST(CheckIcrc, OverIpv6AllIsKnown) {
  const auto good = framed(ack(kPath6), 0);
  const Path path = seen_by_the_peer(kPath6);
  EXPECT_EQ(check_icrc(path, good, std::nullopt), IcrcCheck::kGood);
  EXPECT_EQ(check_icrc(path, good, 77), IcrcCheck::kGood);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    if (bit / 8 == 4) continue;
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_EQ(check_icrc(path, bytes, std::nullopt), IcrcCheck::kBad);
  }
}

TEST(CheckIcrc, AddressesAndPortCount) {
  const auto bytes = framed(ack(kPath4), 0);
  const Path path = seen_by_the_peer(kPath4);
  ASSERT_EQ(check_icrc(path, bytes, 0), IcrcCheck::kGood);
  EXPECT_EQ(check_icrc(kPath4, bytes, 0), IcrcCheck::kBad);
  Path other = path;
  other.udp_source_port = 4791;
  EXPECT_EQ(check_icrc(other, bytes, 0), IcrcCheck::kBad);
  other = path;
  other.local = make_ipv4(10, 77, 0, 3);
  EXPECT_EQ(check_icrc(other, bytes, 0), IcrcCheck::kBad);
}

TEST(CheckIcrc, TooShortOrTooLongIsBad) {
  const auto bytes = pattern(65536, 1);
  for (const Path& path : {kPath4, kPath6}) {
    for (const std::size_t size : {0U, 1U, 4U, 15U, 65508U, 65536U}) {
      std::uint16_t likely = 0;
      const auto datagram = wire::Bytes(bytes).first(size);
      EXPECT_EQ(check_icrc(path, datagram, std::nullopt), IcrcCheck::kBad) << size;
      EXPECT_EQ(check_icrc(path, datagram, 1), IcrcCheck::kBad) << size;
      EXPECT_EQ(check_icrc_likely(path, datagram, likely), IcrcCheck::kBad) << size;
    }
  }
}

TEST(CheckIcrc, FindsTheIdentification) {
  const auto payload = pattern(1024, 5);
  const Path path = seen_by_the_peer(kPath4);
  for (std::uint32_t id = 0; id < 0x10000; id += 37) {
    const auto bytes = framed(send_only(kPath4, payload, 1), static_cast<std::uint16_t>(id));
    std::uint16_t likely = 5;
    const IcrcCheck check = check_icrc_likely(path, bytes, likely);
    ASSERT_EQ(likely, id);
    ASSERT_EQ(check, id < 64 ? IcrcCheck::kGood : IcrcCheck::kUnchecked);
  }
}

TEST(CheckIcrc, AnIdentificationThatIsLikelyAndRightIsGood) {
  const auto bytes = framed(ack(kPath4), 0xb171);
  std::uint16_t likely = 0xb171;
  EXPECT_EQ(check_icrc_likely(seen_by_the_peer(kPath4), bytes, likely), IcrcCheck::kGood);
}

TEST(CheckIcrc, WhatNoIdentificationFitsLeavesTheLikelyOne) {
  auto bytes = framed(ack(kPath4), 0);
  bytes[7] ^= 1;
  std::uint16_t likely = 5;
  EXPECT_EQ(check_icrc_likely(seen_by_the_peer(kPath4), bytes, likely), IcrcCheck::kBad);
  EXPECT_EQ(likely, 5);
}

}  // namespace
}  // namespace rpcrdma::soft
