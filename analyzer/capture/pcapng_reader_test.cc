// Tests of the pcapng reader with blocks built by hand.
#include "capture_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint16_t kIfTsresol = 9;
constexpr std::uint16_t kIfTsoffset = 14;

// Worked out by hand from draft-ietf-opsawg-pcapng: a section, an interface, a packet of 5 bytes.
TEST(Pcapng, GoldenBigEndian) {
  const Walk w =
      walk_memory(from_hex("0a0d0d0a 0000001c 1a2b3c4d 00010000 ffffffffffffffff 0000001c"
                           "00000001 00000014 00650000 00040000 00000014"
                           "00000006 00000028 00000000 00000001 00000002 00000005"
                           "00000040 0102030405 000000 00000028"));
  ASSERT_EQ(w.frames.size(), 1u) << w.error << w.stats.damage;
  EXPECT_EQ(w.frames[0].frame.number, 1u);
  EXPECT_EQ(w.frames[0].frame.time_ns, 4'294'967'298'000);  // 2^32 + 2 microseconds
  EXPECT_EQ(w.frames[0].frame.original, 64u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kRaw);
  EXPECT_EQ(w.frames[0].data, from_hex("0102030405"));
}

TEST(Pcapng, SectionsEachHaveTheirByteOrderAndInterfaces) {
  const Writer le;
  const Writer be{.big = true};
  // The first section states its length, the second does not.
  const ByteVector first =
      le.interface(1) + le.interface(113) + le.packet(1, 7, {1}) + le.packet(0, 8, {2});
  const Walk w = walk_memory(le.section(first.size()) + first + be.section() + be.interface(276) +
                             be.packet(0, 9, {3}));
  ASSERT_EQ(w.frames.size(), 3u) << w.stats.damage;
  EXPECT_EQ(w.frames[0].frame.interface, 1u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kLinuxSll);
  EXPECT_EQ(w.frames[1].frame.interface, 0u);
  EXPECT_EQ(w.frames[1].frame.link, LinkType::kEthernet);
  EXPECT_EQ(w.frames[2].frame.interface, 2u);
  EXPECT_EQ(w.frames[2].frame.link, LinkType::kLinuxSll2);
  EXPECT_EQ(w.frames[2].frame.time_ns, 9000);
  EXPECT_EQ(w.frames[2].frame.number, 3u);
}

std::int64_t time_of(const ByteVector& options, std::uint64_t ticks) {
  const Writer le;
  const Walk w = walk_memory(le.section() + le.interface(1, options) + le.packet(0, ticks, {1}));
  return w.frames.size() == 1 ? w.frames[0].frame.time_ns : -1;
}

TEST(Pcapng, ResolutionOfNanoseconds) {
  EXPECT_EQ(time_of(Writer{}.option(kIfTsresol, {9}), 1'700'000'000'123'456'789),
            1'700'000'000'123'456'789);
}

TEST(Pcapng, ResolutionOfPicoseconds) {
  EXPECT_EQ(time_of(Writer{}.option(kIfTsresol, {12}), 5'999), 5);
}

TEST(Pcapng, ResolutionOfAPowerOfTwo) {
  EXPECT_EQ(time_of(Writer{}.option(kIfTsresol, {0x80 | 10}), 1536), 1'500'000'000);
}

TEST(Pcapng, OffsetIsAddedAndMayBeNegative) {
  const Writer le;
  EXPECT_EQ(time_of(le.option(kIfTsoffset, le.u64(100)), 5), 100'000'005'000);
  EXPECT_EQ(time_of(le.option(kIfTsoffset, le.u64(~std::uint64_t{0})), 5), -999'995'000);
}

TEST(Pcapng, OptionsBehindTheEndMarkDoNotCount) {
  const Writer le;
  EXPECT_EQ(time_of(le.option(0, {}) + le.option(kIfTsresol, {9}), 5), 5000);
}

TEST(Pcapng, SimplePacketIsCutToTheSnapshotLength) {
  const Writer le;
  const Walk w = walk_memory(le.section() + le.interface(1, {}, 4) +
                             le.block(3, le.u32(60) + from_hex("01020304")));
  ASSERT_EQ(w.frames.size(), 1u) << w.stats.damage;
  EXPECT_EQ(w.frames[0].data, from_hex("01020304"));
  EXPECT_EQ(w.frames[0].frame.original, 60u);
  EXPECT_EQ(w.frames[0].frame.time_ns, 0);
}

TEST(Pcapng, ObsoletePacketBlock) {
  const Writer be{.big = true};
  const Walk w = walk_memory(be.section() + be.interface() + be.interface(101) +
                             be.block(2, be.u16(1) + be.u16(3) + be.u32(0) + be.u32(6) + be.u32(2) +
                                             be.u32(9) + from_hex("abcd")));
  ASSERT_EQ(w.frames.size(), 1u) << w.stats.damage;
  EXPECT_EQ(w.frames[0].data, from_hex("abcd"));
  EXPECT_EQ(w.frames[0].frame.interface, 1u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kRaw);
  EXPECT_EQ(w.frames[0].frame.time_ns, 6000);
  EXPECT_EQ(w.stats.dropped, 3u);
}

TEST(Pcapng, UnknownBlocksAreSkipped) {
  const Writer le;
  const Walk w =
      walk_memory(le.section() + le.block(0x0bad, from_hex("00112233")) + le.interface() +
                  le.block(4, {}) + le.packet(0, 1, {1}) + le.block(0x80000001, {}));
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_THAT(w.stats.damage, IsEmpty());
}

ByteVector statistics(const Writer& w, std::uint32_t interface, std::uint64_t ifdrop,
                      std::uint64_t osdrop) {
  return w.block(
      5, w.u32(interface) + w.u64(0) + w.option(5, w.u64(ifdrop)) + w.option(7, w.u64(osdrop)));
}

TEST(Pcapng, StatisticsAreRunningTotalsPerInterface) {
  const Writer le;
  const Walk w =
      walk_memory(le.section() + le.interface() + le.interface() + statistics(le, 0, 2, 3) +
                  statistics(le, 1, 10, 0) + statistics(le, 0, 4, 3));
  EXPECT_EQ(w.stats.dropped, 17u);
}

TEST(Pcapng, DropCountsOfPacketsAddUp) {
  const Writer le;
  const ByteVector lost2 = le.option(4, le.u64(2));
  const Walk w = walk_memory(le.section() + le.interface() + le.packet(0, 1, {1}, lost2) +
                             le.packet(0, 2, {2, 3, 4}, lost2));
  EXPECT_EQ(w.stats.dropped, 4u);
}

TEST(Pcapng, TheSameLossesReportedTwiceCountOnce) {
  const Writer le;
  const Walk w =
      walk_memory(le.section() + le.interface() + le.packet(0, 1, {1}, le.option(4, le.u64(2))) +
                  statistics(le, 0, 0, 2));
  EXPECT_EQ(w.stats.dropped, 2u);
}

TEST(PcapngDamage, LengthsThatDiffer) {
  const Writer le;
  const ByteVector good = le.section() + le.interface() + le.packet(0, 1, {1});
  ByteVector bytes = good + le.packet(0, 2, {2}) + le.packet(0, 3, {3});
  bytes[good.size() + 32] = 40;  // the repeated length of 36
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_FALSE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("two lengths differ at offset 84"));
}

TEST(PcapngDamage, ImpossibleBlockLengths) {
  const Writer le;
  const ByteVector good = le.section() + le.interface() + le.packet(0, 1, {1});
  for (const std::uint32_t length : {0u, 8u, 37u, 0x7ffffffcu}) {
    const Walk w = walk_memory(good + le.u32(6) + le.u32(length) + ByteVector(64, 0));
    EXPECT_EQ(w.frames.size(), 1u);
    EXPECT_THAT(w.stats.damage, HasSubstr("impossible block length " + std::to_string(length)));
  }
}

TEST(PcapngDamage, PacketLongerThanItsBlockIsSkipped) {
  const Writer le;
  const ByteVector bad =
      le.block(6, le.u32(0) + le.u64(0) + le.u32(0xffffffff) + le.u32(4) + from_hex("01020304"));
  const Walk w = walk_memory(le.section() + le.interface() + bad + le.packet(0, 1, {1}));
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_THAT(w.stats.damage, HasSubstr("a packet longer than its block at offset 48"));
}

TEST(PcapngDamage, PacketOfAnUnknownInterfaceIsSkipped) {
  const Writer le;
  const Walk w =
      walk_memory(le.section() + le.interface() + le.packet(1, 1, {1}) + le.packet(0, 1, {2}));
  ASSERT_EQ(w.frames.size(), 1u);
  EXPECT_EQ(w.frames[0].frame.number, 1u);
  EXPECT_THAT(w.stats.damage, HasSubstr("not described at offset 48; 36 bytes skipped"));
}

TEST(PcapngDamage, InterfacesOfAnEarlierSectionAreGone) {
  const Writer le;
  const Walk w = walk_memory(le.section() + le.interface() + le.section() + le.packet(0, 1, {1}));
  EXPECT_EQ(w.frames.size(), 0u);
  EXPECT_THAT(w.stats.damage, HasSubstr("not described"));
}

TEST(PcapngDamage, CutWithinABlock) {
  const Writer le;
  ByteVector bytes = le.section() + le.interface() + le.packet(0, 1, {1}) + le.packet(0, 2, {2});
  bytes.pop_back();
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("block at offset 84: only 35 bytes of it are present"));
}

TEST(PcapngDamage, LaterSectionOfAnotherVersionEndsTheWalk) {
  const Writer le;
  ByteVector bytes = le.section() + le.interface() + le.packet(0, 1, {1}) + le.section();
  bytes[bytes.size() - 16] = 9;
  const Walk w = walk_memory(bytes);
  EXPECT_EQ(w.frames.size(), 1u);
  EXPECT_THAT(w.stats.damage, HasSubstr("unsupported pcapng version"));
}

TEST(PcapngOpen, VersionIsNamed) {
  ByteVector bytes = Writer{}.section();
  bytes[12] = 2;
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("pcapng version 2.0 is not supported"));
}

TEST(PcapngOpen, NoByteOrderMagic) {
  ByteVector bytes = Writer{}.section();
  bytes[8] = 0;
  EXPECT_THAT(walk_memory(bytes).error, HasSubstr("no byte-order magic"));
}

}  // namespace
}  // namespace rpcrdma::capture
