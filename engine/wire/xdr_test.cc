// XDR reader and writer: byte order, roundup, bounds and sticky errors.
#include "support/wire_bytes.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

TEST(EndianTest, LoadsTheMostSignificantByteFirst) {
  const auto b = hex("0102 0304 0506 0708");
  EXPECT_EQ(load_be16(b.data()), 0x0102);
  EXPECT_EQ(load_be24(b.data()), 0x010203U);
  EXPECT_EQ(load_be32(b.data()), 0x01020304U);
  EXPECT_EQ(load_be64(b.data()), 0x0102030405060708U);
}

TEST(EndianTest, StoresTheMostSignificantByteFirst) {
  std::vector<std::uint8_t> b(17);
  store_be16(b.data(), 0x0102);
  store_be24(b.data() + 2, 0x030405);
  store_be32(b.data() + 5, 0x06070809);
  store_be64(b.data() + 9, 0x0a0b0c0d0e0f1011);
  EXPECT_EQ(b, hex("0102 030405 06070809 0a0b0c0d0e0f1011"));
}

TEST(XdrPaddedTest, RoundsUpToFour) {
  EXPECT_EQ(xdr_padded(0), 0U);
  EXPECT_EQ(xdr_padded(1), 4U);
  EXPECT_EQ(xdr_padded(4), 4U);
  EXPECT_EQ(xdr_padded(UINT32_MAX), std::uint64_t{1} << 32);
}

TEST(XdrReaderTest, ReadsIntegersInOrder) {
  const auto b = hex("00000007 0000000100000002");
  XdrReader in(b);
  EXPECT_EQ(in.u32(), 7U);
  EXPECT_EQ(in.u64(), 0x100000002U);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(XdrReaderTest, SkipsTheRoundupOfOpaqueData) {
  const auto b = hex("00000005 6162636465000000 0000002a");
  XdrReader in(b);
  const Bytes text = in.opaque();
  EXPECT_EQ(std::string(text.begin(), text.end()), "abcde");
  EXPECT_EQ(in.u32(), 42U);
  EXPECT_TRUE(in.ok());
}

TEST(XdrReaderTest, RefusesOpaqueDataWithoutItsRoundup) {
  const auto b = hex("00000005 6162636465");
  XdrReader in(b);
  EXPECT_TRUE(in.opaque().empty());
  EXPECT_FALSE(in.ok());
}

TEST(XdrReaderTest, RefusesACountOfAllOnes) {
  const auto b = hex("ffffffff 00000000");
  XdrReader in(b);
  EXPECT_TRUE(in.opaque().empty());
  EXPECT_FALSE(in.ok());
}

TEST(XdrReaderTest, RefusesALengthWhoseRoundupWraps) {
  const auto b = hex("00000000");
  XdrReader in(b);
  EXPECT_TRUE(in.opaque_fixed(UINT64_MAX).empty());
  EXPECT_FALSE(in.ok());
}

TEST(XdrReaderTest, RefusesOpaqueDataOverItsMaximum) {
  const auto b = hex("00000005 6162636465000000");
  XdrReader in(b);
  EXPECT_TRUE(in.opaque(4).empty());
  EXPECT_FALSE(in.ok());
}

TEST(XdrReaderTest, StaysFailedAndStandsAtTheItemThatDidNotFit) {
  const auto b = hex("00000001 0000");
  XdrReader in(b);
  in.u32();
  EXPECT_EQ(in.u32(), 0U);
  EXPECT_EQ(in.opaque_fixed(1).size(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.offset(), 4U);
}

TEST(XdrReaderTest, SkipsNoFurtherThanTheEnd) {
  const auto b = hex("00000001 00000002");
  XdrReader in(b);
  in.skip(4);
  EXPECT_EQ(in.u32(), 2U);
  in.skip(1);
  EXPECT_FALSE(in.ok());
}

TEST(XdrReaderTest, StartsAtAnOffset) {
  const auto b = hex("00000001 00000002");
  EXPECT_EQ(XdrReader(b, 4).u32(), 2U);
  EXPECT_FALSE(XdrReader(b, 9).ok());
}

TEST(XdrReaderTest, CanBeFailedByItsUser) {
  const auto b = hex("00000001");
  XdrReader in(b);
  in.set_failed();
  EXPECT_EQ(in.u32(), 0U);
}

TEST(XdrWriterTest, WritesIntegersInOrder) {
  std::vector<std::uint8_t> b(12);
  XdrWriter out(b);
  out.u32(7);
  out.u64(0x100000002);
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(b, hex("00000007 0000000100000002"));
}

TEST(XdrWriterTest, PadsOpaqueDataWithZeros) {
  const auto five = hex("6162636465");
  std::vector<std::uint8_t> b(12, 0xee);
  XdrWriter out(b);
  out.opaque(five);
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(b, hex("00000005 6162636465000000"));
}

TEST(XdrWriterTest, WritesNoOpaqueDataWhoseRoundupDoesNotFit) {
  const auto five = hex("6162636465");
  std::vector<std::uint8_t> b(7, 0xee);
  XdrWriter out(b);
  out.opaque_fixed(five);
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(b, hex("eeeeeeeeeeeeee"));
}

TEST(XdrWriterTest, CountsWhatDoesNotFitAndWritesNoneOfIt) {
  std::array<std::uint8_t, 6> b{0xee, 0xee, 0xee, 0xee, 0xee, 0xee};
  XdrWriter out(MutableBytes(b).first(5));
  out.u32(1);
  out.u32(2);
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(out.size(), 8U);
  EXPECT_EQ(b, (std::array<std::uint8_t, 6>{0, 0, 0, 1, 0xee, 0xee}));
}

TEST(XdrWriterTest, MeasuresIntoAnEmptySpan) {
  const auto five = hex("6162636465");
  XdrWriter out{MutableBytes{}};
  out.opaque(five);
  out.opaque({});
  EXPECT_EQ(out.size(), 16U);
  EXPECT_FALSE(out.ok());
}

}  // namespace
}  // namespace rpcrdma::wire
