// Snoop files, from RFC 1761.
#include "records_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// By hand: Ethernet; 5 of 9 bytes and three of padding, 2 dropped, 1.000003 s.
TEST(Snoop, FileByHand) {
  const Walk w =
      walk_memory(from_hex("736e6f6f70000000 00000002 00000004"
                           "00000009 00000005 00000020 00000002 00000001 00000003 0102030405 000000"
                           "00000002 00000002 0000001c 00000007 00000002 00000000 aabb 0000"));
  ASSERT_EQ(w.frames.size(), 2u) << w.error;
  EXPECT_EQ(w.frames[0].frame.time_ns, 1'000'003'000);
  EXPECT_EQ(w.frames[0].frame.original, 9u);
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kEthernet);
  EXPECT_EQ(w.frames[0].data, from_hex("0102030405"));
  EXPECT_EQ(w.frames[1].frame.number, 2u);
  EXPECT_EQ(w.frames[1].data, from_hex("aabb"));
  EXPECT_EQ(w.stats.dropped, 7u);
  EXPECT_THAT(w.stats.damage, IsEmpty());
}

TEST(Snoop, DatalinkTypes) {
  const ByteVector record = snoop_record(1, 2, {1});
  EXPECT_EQ(walk_memory(snoop_header(0) + record).frames.at(0).frame.link, LinkType::kEthernet);
  EXPECT_EQ(walk_memory(snoop_header(26) + record).frames.at(0).frame.link,
            static_cast<LinkType>(242));
  EXPECT_THAT(walk_memory(snoop_header(1) + record).error, HasSubstr("datalink type 1 (Token Bus"));
  EXPECT_THAT(walk_memory(snoop_header(99) + record).error, HasSubstr("datalink type 99"));
}

TEST(Snoop, OtherVersionsAreNamed) {
  EXPECT_THAT(walk_memory(snoop_header(4, 3)).error, HasSubstr("snoop version 3"));
}

TEST(Snoop, CutAtEveryByte) {
  ByteVector bytes = snoop_header();
  for (std::uint32_t i = 0; i < 8; ++i) bytes = bytes + snoop_record(i, i, ByteVector(10, 7));
  for (std::size_t size = 8; size <= bytes.size(); ++size) {
    const Walk w = walk_memory({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_EQ(w.error.empty(), size >= 16) << size;
    if (size < 16) continue;
    // The last record may be without its two bytes of padding.
    const std::size_t whole = (size - 16) / 36;
    const std::size_t rest = (size - 16) % 36;
    EXPECT_EQ(w.frames.size(), whole + (rest == 34 ? 1 : 0)) << size;
    EXPECT_EQ(w.stats.cut_short, rest != 0 && rest != 34) << size;
  }
}

TEST(Snoop, DamageCostsOneRecord) {
  for (const std::size_t at : {std::size_t{4}, std::size_t{8}, std::size_t{20}}) {
    ByteVector bytes = snoop_header();
    for (std::uint8_t i = 0; i < 10; ++i) {
      bytes = bytes + snoop_record(100u + i, i, ByteVector(12, i));
    }
    bytes[16 + 4 * 36 + at] = 0x7f;
    const Walk w = walk_memory(bytes);
    ASSERT_EQ(w.frames.size(), 9u) << at << w.error;
    EXPECT_EQ(w.frames[4].data[0], 5);
    EXPECT_THAT(w.stats.damage, HasSubstr("36 bytes skipped"));
  }
}

}  // namespace
}  // namespace rpcrdma::capture
