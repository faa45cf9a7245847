// Tests of cutting coalesced datagrams: kinds of packets, numbering, damage, truncation.
#include "support/roce_packets.h"

#include <algorithm>

#include <gtest/gtest.h>

#include <rpcrdma/roce/coalesced.h>

namespace rpcrdma::roce {
namespace {

using namespace testing;
using wire::Opcode;

using ByteVector = std::vector<std::uint8_t>;

// One datagram with the transport packets of all.
ByteVector merge(const std::vector<ByteVector>& all) {
  ByteVector merged = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    merged.insert(merged.end(), all[i].begin() + 28, all[i].end());
  }
  wire::store_be16(&merged[2], static_cast<std::uint16_t>(merged.size()));
  wire::store_be16(&merged[24], static_cast<std::uint16_t>(merged.size() - 20));
  return merged;
}

PreparedPacket prepared(const ByteVector& bytes, std::size_t captured = SIZE_MAX) {
  PreparedPacket p;
  capture::TransportPacket& t = p.transport;
  t.src = ip(kA);
  t.dst = ip(kB);
  t.ip_id = wire::load_be16(&bytes[4]);
  t.data = wire::Bytes(bytes).first(std::min(captured, bytes.size()));
  t.bth = 28;
  t.wire_length = bytes.size() - 28;
  prepare(p);
  return p;
}

struct CutPackets {
  std::vector<std::uint32_t> psns;
  std::vector<IcrcCheck> icrcs;
  std::vector<ByteVector> packets;
  std::size_t truncated = 0;
};

CutPackets cut(const PreparedPacket& merged) {
  CutPackets result;
  CoalescedPackets packets;
  if (!CoalescedPackets::possible(merged) || !packets.begin(merged)) return result;
  PreparedPacket packet;
  while (packets.next(packet)) {
    result.psns.push_back(packet.roce.bth.psn);
    result.icrcs.push_back(packet.icrc);
    result.packets.emplace_back(packet.transport.data.begin(), packet.transport.data.end());
  }
  result.truncated = packets.truncated();
  return result;
}

// Packets with `payload` bytes each, the last with `last`; numbered by `step`.
std::vector<ByteVector> packets(Opcode opcode, std::size_t n, std::size_t payload, std::size_t last,
                                std::uint16_t id = 0, std::uint16_t step = 1) {
  std::vector<ByteVector> all;
  const ByteVector bytes = pattern(payload);
  for (std::size_t i = 0; i < n; ++i) {
    wire::RocePacket p = packet(opcode, 0x22, 100 + static_cast<std::uint32_t>(i),
                                wire::Bytes(bytes).first(i + 1 == n ? last : payload));
    all.push_back(ip_packet(kA, kB, p, static_cast<std::uint16_t>(id + i * step)));
  }
  return all;
}

void expect_whole(const std::vector<ByteVector>& all) {
  const ByteVector merged = merge(all);
  const CutPackets result = cut(prepared(merged));
  ASSERT_EQ(result.packets.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(result.packets[i], all[i]) << i;
    EXPECT_EQ(result.icrcs[i], IcrcCheck::kGood) << i;
  }
}

TEST(Coalesced, PacketsOfEachKind) {
  expect_whole(packets(Opcode::kWriteMiddle, 14, 4096, 4096));
  expect_whole(packets(Opcode::kSendOnly, 5, 200, 100));
  expect_whole(packets(Opcode::kSendOnly, 2, 201, 57));
  std::vector<ByteVector> acks;
  for (std::uint16_t i = 0; i < 10; ++i) {
    acks.push_back(ip_packet(kA, kB, ack(0x22 + i, 7U * i), i));
  }
  expect_whole(acks);
}

TEST(Coalesced, IdentificationsOfTheSender) {
  expect_whole(packets(Opcode::kReadRespMiddle, 8, 1024, 1024, 65533));
  // A receiving device merges packets with the same one.
  expect_whole(packets(Opcode::kReadRespMiddle, 8, 1024, 512, 0, 0));
}

TEST(Coalesced, WhatIsNotProvenStaysWhole) {
  std::vector<ByteVector> all = packets(Opcode::kSendOnly, 4, 200, 100);
  all[0][50] ^= 1;  // the first packet is damaged: nothing proves its length
  EXPECT_TRUE(cut(prepared(merge(all))).packets.empty());
  // One damaged packet.
  ByteVector one = packets(Opcode::kSendOnly, 1, 200, 200)[0];
  one[100] ^= 1;
  EXPECT_TRUE(cut(prepared(one)).packets.empty());
  EXPECT_TRUE(cut(prepared(packets(Opcode::kSendOnly, 1, 200, 200)[0])).packets.empty());
}

TEST(Coalesced, ADamagedPacketAmongOthers) {
  std::vector<ByteVector> all = packets(Opcode::kSendOnly, 4, 200, 100);
  all[2][50] ^= 1;
  const CutPackets result = cut(prepared(merge(all)));
  EXPECT_EQ(result.psns, (std::vector<std::uint32_t>{100, 101, 102, 103}));
  EXPECT_EQ(result.icrcs[2], IcrcCheck::kBad);
  EXPECT_EQ(result.icrcs[3], IcrcCheck::kGood);
}

TEST(Coalesced, TruncatedByTheSnapLength) {
  const ByteVector merged = merge(packets(Opcode::kWriteMiddle, 10, 1024, 1024));
  constexpr std::size_t kEach = 1024 + 16;
  const CutPackets result = cut(prepared(merged, 28 + 4 * kEach + 100));
  EXPECT_EQ(result.psns, (std::vector<std::uint32_t>{100, 101, 102, 103, 104}));
  EXPECT_EQ(result.icrcs[3], IcrcCheck::kGood);
  EXPECT_EQ(result.icrcs[4], IcrcCheck::kUnchecked);
  EXPECT_EQ(result.truncated, 5U);
  // Not even the first packet is whole.
  EXPECT_TRUE(cut(prepared(merged, 28 + 900)).packets.empty());
}

TEST(Coalesced, WorkForHostilePacketsIsBounded) {
  // A BTH fits wherever one is looked for.
  ByteVector bytes = merge(packets(Opcode::kWriteMiddle, 14, 4096, 4096));
  const ByteVector bth(bytes.begin() + 28, bytes.begin() + 40);
  for (std::size_t at = 28; at + 16 <= bytes.size(); at += 16) {
    std::copy(bth.begin(), bth.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  EXPECT_TRUE(cut(prepared(bytes)).packets.empty());
}

}  // namespace
}  // namespace rpcrdma::roce
