// ERF files: recognized without a magic number, records of all kinds, damage.
#include "compress_for_tests.h"
#include "records_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/link.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'795'250'000;

ByteVector records(std::size_t count) {
  ByteVector bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes = bytes + ErfRecord{.time = erf_time(kSecond + i)}.with(
                        ByteVector(20, static_cast<std::uint8_t>(0xa0 + i)));
  }
  return bytes;
}

// By hand: 1.5 s after the epoch, Ethernet, 36 bytes with headers and padding, 14 of 60 captured.
TEST(Erf, RecordByHand) {
  const Walk w =
      walk_memory(from_hex("00000080 01000000 02 04 0028 0003 003c 0000"
                           "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16"));
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  const Taken& t = w.frames[0];
  EXPECT_EQ(t.frame.time_ns, 1'500'000'000);
  EXPECT_EQ(t.frame.link, LinkType::kErf);
  EXPECT_EQ(t.data.size(), 40u);
  EXPECT_EQ(t.frame.original, 16u + 2 + 60);
  EXPECT_EQ(w.stats.dropped, 3u);
  EXPECT_THAT(w.stats.damage, IsEmpty());
}

TEST(Erf, TimesAreRounded) {
  const Walk w = walk_memory(ErfRecord{.time = erf_time(7, 0xffffffff)}.with({1, 2}) +
                             ErfRecord{.time = erf_time(8, 0x00418937)}.with({1, 2}));
  ASSERT_EQ(w.frames.size(), 2u) << w.error;
  EXPECT_EQ(w.frames[0].frame.time_ns, 8'000'000'000);
  EXPECT_EQ(w.frames[1].frame.time_ns, 8'001'000'000);
}

TEST(Erf, PaddingIsNotData) {
  ErfRecord r{.time = erf_time(kSecond)};
  r.padding = 6;
  const Walk w = walk_memory(r.with(ByteVector(20, 1)) + r.with(ByteVector(20, 2)));
  ASSERT_EQ(w.frames.size(), 2u) << w.error;
  EXPECT_EQ(w.frames[0].data.size(), 16u + 2 + 20);
  EXPECT_EQ(w.frames[0].frame.original, 16u + 2 + 20);
}

TEST(Erf, ExtensionHeadersStayInFront) {
  ErfRecord r{.time = erf_time(kSecond)};
  r.extensions = from_hex("8100000000000001 0500000000000002");
  r.on_wire = 64;
  const Walk w = walk_memory(r.with(ByteVector(20, 1)));
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  EXPECT_EQ(w.frames[0].data.size(), 16u + 16 + 2 + 20);
  EXPECT_EQ(w.frames[0].frame.original, 16u + 16 + 2 + 64);
}

TEST(Erf, PadRecordsAreSkippedAndTheirLossCounts) {
  const ByteVector pad = ErfRecord{.type = 48, .lost = 2}.with(ByteVector(8));
  const Walk w =
      walk_memory(pad + ErfRecord{.time = erf_time(kSecond), .lost = 5}.with({1, 2}) + pad);
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  EXPECT_EQ(w.frames[0].frame.number, 1u);
  EXPECT_EQ(w.stats.dropped, 9u);
}

TEST(Erf, AColorIsNoLossCounter) {
  const Walk w =
      walk_memory(ErfRecord{.time = erf_time(kSecond), .type = 11, .lost = 77}.with({1, 2}));
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  EXPECT_EQ(w.stats.dropped, 0u);
}

TEST(Erf, TheInterfaceIsInTheFlags) {
  const Walk w = walk_memory(ErfRecord{.time = erf_time(kSecond), .flags = 7}.with({1, 2}));
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  EXPECT_EQ(w.frames[0].frame.interface, 3u);
}

// The same packets as in a pcap file, behind ERF headers.
TEST(Erf, RocePacketsOfARealCapture) {
  const Walk plain = walk(open_file(real_capture("roce-icrc-oracle.pcap")));
  ByteVector bytes;
  std::size_t expected = 0;
  for (const Taken& t : plain.frames) {
    Frame frame = t.frame;
    frame.data = t.data;
    TransportPacket packet;
    expected += dissect_link(frame, packet) == LinkResult::kRoce ? 1 : 0;
    bytes = bytes + ErfRecord{.time = erf_time(kSecond)}.with(t.data);
  }
  const Walk w = walk_memory(bytes);
  ASSERT_EQ(w.frames.size(), plain.frames.size()) << w.error;
  std::size_t roce = 0;
  for (const Taken& t : w.frames) {
    Frame frame = t.frame;
    frame.data = t.data;
    TransportPacket packet;
    if (dissect_link(frame, packet) == LinkResult::kRoce && packet.complete()) ++roce;
  }
  EXPECT_EQ(roce, expected);
  EXPECT_EQ(walk_memory(gzip(bytes)).frames.size(), plain.frames.size());
}

TEST(Erf, CutWithinTheLastRecord) {
  ByteVector bytes = records(4);
  bytes.resize(bytes.size() - 7);
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 3u) << w.error;
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("ends within the record at offset 114"));
}

TEST(Erf, ImpossibleLengthCostsOneRecord) {
  ByteVector bytes = records(9);
  bytes[5 * 38 + 10] = 0;
  bytes[5 * 38 + 11] = 7;
  const Walk w = walk_memory(bytes);
  ASSERT_EQ(w.frames.size(), 8u) << w.error;
  EXPECT_EQ(w.frames[4].data.back(), 0xa4);
  EXPECT_EQ(w.frames[5].data.back(), 0xa6);
  EXPECT_THAT(w.stats.damage, HasSubstr("impossible record length 7 at offset 190"));
  EXPECT_THAT(w.stats.damage, HasSubstr("38 bytes skipped"));
}

TEST(Erf, OtherFilesAreNotErf) {
  ByteVector bytes = records(5);
  bytes[8] = 0x7e;  // no such type
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("not a capture file"));
  bytes = records(5);
  bytes[38 + 7] ^= 0x40;  // the second record is years from the first
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("not a capture file"));
  bytes = records(1);
  bytes.resize(bytes.size() - 1);
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("not a capture file"));
  EXPECT_THAT(walk_memory(ByteVector(4096, 0x20)).error, HasSubstr("not a capture file"));
}

}  // namespace
}  // namespace rpcrdma::capture
