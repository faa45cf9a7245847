#include <array>

#include <gtest/gtest.h>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {
namespace {

TEST(FormatValue, DecimalWhereTheBaseSaysSo) {
  EXPECT_EQ(format_value(spec(FieldId::kCredit), 128), "128");
}

TEST(FormatValue, HexadecimalHasTheDigitsOfTheType) {
  EXPECT_EQ(format_value(spec(FieldId::kPdFlags), 1), "0x01");
  EXPECT_EQ(format_value(spec(FieldId::kIbPkey), 0xff), "0x00ff");
  EXPECT_EQ(format_value(spec(FieldId::kIbDestQp), 0x11), "0x000011");
  EXPECT_EQ(format_value(spec(FieldId::kXid), 0xabc), "0x00000abc");
  EXPECT_EQ(format_value(spec(FieldId::kSegmentOffset), 0xabc), "0x0000000000000abc");
}

TEST(FormatValue, BothBases) {
  const FieldSpec field{FieldId::kXid, "", FieldType::kUint16, Base::kDecHex, "", "", {}};
  EXPECT_EQ(format_value(field, 20049), "20049 (0x4e51)");
}

TEST(FormatValue, NegativeIntegers) {
  const FieldSpec field{FieldId::kXid, "", FieldType::kInt64, Base::kDec, "", "", {}};
  EXPECT_EQ(format_value(field, UINT64_MAX), "-1");
}

TEST(FormatValue, NameStandsBeforeTheNumber) {
  EXPECT_EQ(format_value(spec(FieldId::kProc), 0), "RDMA_MSG (0)");
  EXPECT_EQ(format_value(spec(FieldId::kCmAttribute), 0x10), "REQ (0x0010)");
}

TEST(FormatValue, GivenNameStandsInPlaceOfTheTables) {
  EXPECT_EQ(format_value(spec(FieldId::kProc), 0, "RDMA2_MSG"), "RDMA2_MSG (0)");
}

TEST(FormatValue, ValueWithoutNameIsUnknown) {
  EXPECT_EQ(format_value(spec(FieldId::kProc), 7), "unknown (7)");
}

TEST(FormatValue, Booleans) {
  EXPECT_EQ(format_value(spec(FieldId::kErrorProcessed), 1), "True");
  EXPECT_EQ(format_value(spec(FieldId::kErrorProcessed), 0), "False");
}

TEST(FormatValue, Ipv4Address) {
  EXPECT_EQ(format_value(spec(FieldId::kIpCmSource4), 0x0a4d0002), "10.77.0.2");
}

TEST(FormatValue, DurationsAreSeconds) {
  EXPECT_EQ(format_value(spec(FieldId::kLatency), 1'000'123'000), "1.000123000 seconds");
  EXPECT_EQ(format_value(spec(FieldId::kLatency), static_cast<std::uint64_t>(-1500)),
            "-0.000001500 seconds");
}

TEST(FormatValue, TimesAreUtc) {
  EXPECT_EQ(format_value(spec(FieldId::kFrameTime), 1'700'000'000'000'000'001),
            "2023-11-14 22:13:20.000000001");
  EXPECT_EQ(format_value(spec(FieldId::kFrameTime), static_cast<std::uint64_t>(-1)),
            "1969-12-31 23:59:59.999999999");
}

TEST(FormatBytes, HexadecimalDigits) {
  const std::array<std::uint8_t, 3> value{0x00, 0xab, 0x10};
  EXPECT_EQ(format_bytes(spec(FieldId::kOptInfo), value), "00ab10");
}

TEST(FormatBytes, Ipv6Address) {
  std::array<std::uint8_t, 16> value{0xfe, 0x80};
  value[15] = 1;
  EXPECT_EQ(format_bytes(spec(FieldId::kIpCmSource6), value), "fe80::1");
}

TEST(FormatBytes, AddressesOfEachKind) {
  const FieldSpec& source = spec(FieldId::kSource);
  EXPECT_EQ(format_bytes(source, std::array<std::uint8_t, 4>{10, 77, 0, 2}), "10.77.0.2");
  EXPECT_EQ(format_bytes(source, std::array<std::uint8_t, 2>{1, 2}), "lid 258");
  std::array<std::uint8_t, 16> value{0xfe, 0x80};
  value[15] = 1;
  EXPECT_EQ(format_bytes(source, value), "fe80::1");
}

}  // namespace
}  // namespace rpcrdma::decode
