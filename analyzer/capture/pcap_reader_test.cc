// Tests of the pcap reader, including its search for the next good record after damage.
#include "capture_for_tests.h"
#include "compress_for_tests.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Worked out by hand from draft-ietf-opsawg-pcap: two packets of 3 and 2 bytes (6 on the wire).
constexpr const char* kGoldenLittle =
    "d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000"
    "01000000 02000000 03000000 03000000 aabbcc"
    "02000000 3f420f00 02000000 06000000 ddee";
constexpr const char* kGoldenBigNano =
    "a1b23c4d 0002 0004 00000000 00000000 0000ffff 00000071"
    "00000001 00000002 00000003 00000003 aabbcc"
    "ffffffff 3b9ac9ff 00000002 00000006 ddee";

TEST(Pcap, LittleEndianMicroseconds) {
  const Walk w = walk_memory(from_hex(kGoldenLittle));
  ASSERT_EQ(w.frames.size(), 2u) << w.error;
  EXPECT_EQ(w.frames[0].frame.number, 1u);
  EXPECT_EQ(w.frames[0].frame.time_ns, 1'000'002'000);
  EXPECT_EQ(w.frames[0].frame.original, 3u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kEthernet);
  EXPECT_EQ(w.frames[0].data, from_hex("aabbcc"));
  EXPECT_EQ(w.frames[1].frame.number, 2u);
  EXPECT_EQ(w.frames[1].frame.time_ns, 2'999'999'000);
  EXPECT_EQ(w.frames[1].frame.original, 6u);
  EXPECT_EQ(w.frames[1].data, from_hex("ddee"));
}

TEST(Pcap, BigEndianNanoseconds) {
  const Walk w = walk_memory(from_hex(kGoldenBigNano));
  ASSERT_EQ(w.frames.size(), 2u) << w.error;
  EXPECT_EQ(w.frames[0].frame.time_ns, 1'000'000'002);
  EXPECT_EQ(w.frames[1].frame.time_ns, 4'294'967'295'999'999'999);
  EXPECT_EQ(w.frames[1].frame.link, LinkType::kLinuxSll);
}

TEST(Pcap, ModifiedVariantHasLongerRecordHeaders) {
  const Writer le;
  const ByteVector extra = from_hex("0000000000000000");
  const Walk w = walk_memory(le.pcap_header(0xa1b2cd34) + le.u32(1) + le.u32(2) + le.u32(2) +
                             le.u32(2) + extra + from_hex("aabb"));
  ASSERT_EQ(w.frames.size(), 1u) << w.error;
  EXPECT_EQ(w.frames[0].data, from_hex("aabb"));
}

TEST(Pcap, FcsBitsAreNoPartOfTheLinkType) {
  const Writer le;
  const Walk w = walk_memory(le.pcap_header(0xa1b2c3d4, 0x24000001) + le.record(1, 2, {7}));
  ASSERT_EQ(w.frames.size(), 1u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kEthernet);
}

TEST(Pcap, NoRecordsIsNoError) {
  const Walk w = walk_memory(Writer{}.pcap_header());
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_THAT(w.stats.damage, IsEmpty());
  EXPECT_FALSE(w.stats.cut_short);
}

TEST(Pcap, UnsupportedVersionIsNamed) {
  ByteVector bytes = Writer{}.pcap_header();
  bytes[4] = 3;
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("pcap version 3.4"));
}

// Before version 2.3 the length on the wire came first.
TEST(Pcap, VersionsBefore24) {
  const Writer be{.big = true};
  const ByteVector swapped = be.u32(1) + be.u32(2) + be.u32(9) + be.u32(2) + from_hex("aabb");
  const ByteVector plain = be.u32(1) + be.u32(2) + be.u32(2) + be.u32(9) + from_hex("ccdd");
  for (const std::uint8_t minor : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}}) {
    ByteVector bytes = be.pcap_header() + swapped + swapped;
    bytes[7] = minor;
    const Walk w = walk_memory(bytes);
    ASSERT_EQ(w.frames.size(), 2u) << w.error << w.stats.damage;
    EXPECT_EQ(w.frames[0].frame.original, 9u);
    EXPECT_EQ(w.frames[1].data, from_hex("aabb"));
  }
  ByteVector either = be.pcap_header() + swapped + plain;  // writers of version 2.3 differ
  either[7] = 3;
  const Walk w = walk_memory(either);
  ASSERT_EQ(w.frames.size(), 2u) << w.error << w.stats.damage;
  EXPECT_EQ(w.frames[0].data, from_hex("aabb"));
  EXPECT_EQ(w.frames[1].data, from_hex("ccdd"));
  EXPECT_EQ(w.frames[0].frame.original, 9u);
  EXPECT_EQ(w.frames[1].frame.original, 9u);
  ByteVector dgux = be.pcap_header() + swapped;
  dgux[4] = 0x02, dgux[5] = 0x1f, dgux[7] = 0;
  EXPECT_EQ(walk_memory(dgux).frames.size(), 1u);
}

// ---- The resolution of times that the magic number announces and the records contradict.

ByteVector records_at(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& times,
                      std::uint32_t magic) {
  const Writer le;
  ByteVector bytes = le.pcap_header(magic);
  for (const auto& [seconds, fraction] : times) {
    bytes = bytes + le.record(seconds, fraction, ByteVector(40, 1));
  }
  return bytes;
}

TEST(PcapScale, NanosecondsUnderMicroseconds) {
  const Walk w = walk_memory(records_at(
      {{7, 60'394'488}, {7, 60'396'001}, {7, 999'999'999}, {8, 17}, {8, 5'000'000}}, 0xa1b2c3d4));
  ASSERT_EQ(w.frames.size(), 5u) << w.error << w.stats.damage;
  EXPECT_EQ(w.frames[0].frame.time_ns, 7'060'394'488);
  EXPECT_EQ(w.frames[3].frame.time_ns, 8'000'000'017);
  EXPECT_THAT(w.stats.damage, IsEmpty());
  EXPECT_THAT(w.stats.note, HasSubstr("read as nanoseconds"));
}

TEST(PcapScale, OneRecordIsEnoughForAFileOfOne) {
  const Walk w = walk_memory(records_at({{7, 60'394'488}}, 0xa1b2c3d4));
  ASSERT_EQ(w.frames.size(), 1u);
  EXPECT_EQ(w.frames[0].frame.time_ns, 7'060'394'488);
}

// One time in a thousand is possible in both units.
TEST(PcapScale, TheFirstRecordMayBeAmbiguous) {
  const Walk w = walk_memory(
      records_at({{7, 500}, {7, 60'394'488}, {7, 60'396'001}, {7, 70'000'000}}, 0xa1b2c3d4));
  ASSERT_EQ(w.frames.size(), 4u) << w.stats.damage;
  EXPECT_EQ(w.frames[0].frame.time_ns, 7'000'000'500);
}

TEST(PcapScale, SeenLateIsSaid) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> times;
  for (std::uint32_t i = 0; i < 6; ++i) times.emplace_back(7, 1000 * i);
  for (std::uint32_t i = 0; i < 6; ++i) times.emplace_back(7, 50'000'000 + 1000 * i);
  const ByteVector bytes = records_at(times, 0xa1b2c3d4);
  const Walk w = walk_memory(bytes);
  ASSERT_EQ(w.frames.size(), 12u) << w.stats.damage;
  EXPECT_EQ(w.frames[5].frame.time_ns, 7'005'000'000);
  EXPECT_EQ(w.frames[6].frame.time_ns, 7'050'000'000);
  EXPECT_THAT(w.stats.note, HasSubstr("those of the first 6 frames are not"));
}

TEST(PcapScale, DamagedRecordsDoNotChangeIt) {
  for (const std::size_t at : {0U, 4U, 9U}) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> times;
    for (std::uint32_t i = 0; i < 10; ++i) times.emplace_back(7 + i, 1000 * i);
    times[at].second = 60'394'488;
    const Walk w = walk_memory(records_at(times, 0xa1b2c3d4));
    EXPECT_THAT(w.stats.note, IsEmpty()) << at;
    ASSERT_EQ(w.frames.size(), 9u) << at;
    EXPECT_EQ(w.frames[8].frame.time_ns, at == 9 ? 15'008'000'000 : 16'009'000'000);
    EXPECT_THAT(w.stats.damage, HasSubstr("impossible fraction of a second 60394488"));
  }
}

TEST(PcapScale, MicrosecondsUnderNanoseconds) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> times;
  for (std::uint32_t i = 0; i < 60; ++i) times.emplace_back(7 + i / 10, i % 10 * 99'000);
  const Walk w = walk_memory(records_at(times, 0xa1b23c4d));
  ASSERT_EQ(w.frames.size(), 60u) << w.stats.damage;
  EXPECT_EQ(w.frames[59].frame.time_ns, 12'891'000'000);
  EXPECT_THAT(w.stats.note, HasSubstr("read as microseconds"));
}

TEST(PcapScale, NanosecondsStayWhereTheyArePossible) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> times;
  for (std::uint32_t i = 0; i < 60; ++i) times.emplace_back(7, i * 15'000);  // within a millisecond
  EXPECT_THAT(walk_memory(records_at(times, 0xa1b23c4d)).stats.note, IsEmpty());
  for (std::uint32_t i = 0; i < 60; ++i) times.emplace_back(8 + i / 10, i % 10 * 99'000);
  times[40].second = 1'000'000;
  EXPECT_THAT(walk_memory(records_at(times, 0xa1b23c4d)).stats.note, IsEmpty());
}

TEST(Pcap, StatsShowBytesAndFrames) {
  const ByteVector bytes = from_hex(kGoldenLittle);
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.stats.frames, 2u);
  EXPECT_EQ(w.stats.bytes_read, bytes.size());
  EXPECT_EQ(w.stats.bytes_total, bytes.size());
}

TEST(Pcap, CutWithinARecordHeader) {
  ByteVector bytes = from_hex(kGoldenLittle);
  bytes.resize(24 + 19 + 15);
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage,
              HasSubstr("record header at offset 43: only 15 bytes of it are present"));
}

TEST(Pcap, CutWithinRecordData) {
  ByteVector bytes = from_hex(kGoldenLittle);
  bytes.pop_back();
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("record at offset 43: only 17 bytes of it are present"));
}

TEST(Pcap, EndIsFinal) {
  ByteVector bytes = from_hex(kGoldenLittle);
  bytes.pop_back();
  auto source = open_memory(bytes);
  ASSERT_TRUE(source);
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  ASSERT_FALSE((*source)->next(frame).value());
  const std::string damage = (*source)->stats().damage;
  EXPECT_FALSE((*source)->next(frame).value());
  EXPECT_EQ((*source)->stats().damage, damage);
}

// Ten records of 20 bytes; number 3 (counted from 0) begins at offset 24 + 3 * 36.
ByteVector ten_records(const Writer& writer) {
  ByteVector bytes = writer.pcap_header();
  for (std::uint8_t i = 0; i < 10; ++i) {
    bytes =
        bytes + writer.record(1000u + i, i, ByteVector(20, static_cast<std::uint8_t>(0xa0 + i)));
  }
  return bytes;
}

TEST(PcapResync, ImpossibleLengthCostsOneRecord) {
  ByteVector bytes = ten_records({});
  bytes[24 + 3 * 36 + 11] = 0x7f;  // captured length
  const Walk w = walk_memory(bytes);
  ASSERT_EQ(w.frames.size(), 9u);
  EXPECT_EQ(w.frames[2].data[0], 0xa2);
  EXPECT_EQ(w.frames[3].data[0], 0xa4);
  EXPECT_EQ(w.frames[3].frame.number, 4u);
  EXPECT_FALSE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("impossible record length 2130706452 at offset 132"));
  EXPECT_THAT(w.stats.damage, HasSubstr("36 bytes skipped"));
}

TEST(PcapResync, ImpossibleMicroseconds) {
  ByteVector bytes = ten_records({.big = true});
  bytes[24 + 3 * 36 + 4] = 0x10;
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 9u);
  EXPECT_THAT(w.stats.damage, HasSubstr("impossible fraction of a second 268435459"));
}

TEST(PcapResync, InsertedBytesAreSkipped) {
  ByteVector bytes = ten_records({});
  bytes.insert(bytes.begin() + 24 + 5 * 36, 1000, 0xff);
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 10u);
  EXPECT_THAT(w.stats.damage, HasSubstr("1000 bytes skipped"));
}

TEST(PcapResync, ZerosAreNoRecords) {
  ByteVector bytes = ten_records({});
  // A header that is impossible, then zeros, which would read as records without data.
  const ByteVector hole = ByteVector(16, 0xff) + ByteVector(400, 0);
  bytes.insert(bytes.begin() + 24 + 5 * 36, hole.begin(), hole.end());
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 10u);
  EXPECT_THAT(w.stats.damage, HasSubstr("416 bytes skipped"));
}

TEST(PcapResync, SeveralPlacesAreSummedUp) {
  ByteVector bytes = ten_records({});
  bytes[24 + 2 * 36 + 11] = 0x7f;
  bytes[24 + 6 * 36 + 11] = 0x7f;
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 8u);
  EXPECT_THAT(w.stats.damage, HasSubstr("72 bytes skipped there and in 1 more places"));
}

TEST(PcapResync, ShorterChainCountsAtTheEndOfTheFile) {
  ByteVector bytes = ten_records({});
  bytes[24 + 8 * 36 + 11] = 0x7f;
  const Walk w = walk_memory(bytes);
  ASSERT_EQ(w.frames.size(), 9u);
  EXPECT_EQ(w.frames.back().data[0], 0xa9);
}

TEST(PcapResync, NothingFoundStops) {
  ByteVector bytes = ten_records({});
  bytes.resize(24 + 3 * 36);
  bytes.insert(bytes.end(), 5000, 0xff);
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 3u);
  EXPECT_THAT(w.stats.damage, HasSubstr("no record found after it"));
  EXPECT_THAT(w.stats.damage, HasSubstr("offset 132"));
}

TEST(PcapResync, SearchIsBounded) {
  ByteVector bytes = ten_records({});
  bytes.insert(bytes.begin() + 24 + 5 * 36, std::size_t{17} << 20, 0xff);
  EXPECT_EQ(walk_memory(bytes).frames.size(), 5u);
}

TEST(PcapResync, WorksThroughAStreamToo) {
  ByteVector bytes = ten_records({});
  bytes.insert(bytes.begin() + 24 + 5 * 36, 700'000, 0xff);
  const Walk w = walk_memory(gzip(bytes));
  EXPECT_EQ(w.frames.size(), 10u);
  EXPECT_THAT(w.stats.damage, HasSubstr("700000 bytes skipped"));
}

}  // namespace
}  // namespace rpcrdma::capture
