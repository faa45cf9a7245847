// The golden values are those of the Java implementation of HdrHistogram, version 2.1.11, for a
// Histogram(1, 3600000000000, 3) with the same values.
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/load/hdr_histogram.h>

namespace rpcrdma::load {
namespace {

HdrHistogram hdr_sample() {
  HdrHistogram h;
  for (const fabric::Time ns : {0, 1, 2, 2, 1000, 2047, 2048, 2049, 5000, 5000, 123456, 7654321}) {
    h.add(ns);
  }
  h.add(1'234'567'890);
  return h;
}

constexpr const char* kPercentiles =
    R"(       Value     Percentile TotalCount 1/(1-Percentile)

       0.000 0.000000000000          1           1.00
       0.000 0.100000000000          2           1.11
       0.000 0.200000000000          4           1.25
       0.000 0.300000000000          4           1.43
       0.002 0.400000000000          6           1.67
       0.002 0.500000000000          8           2.00
       0.002 0.550000000000          8           2.22
       0.002 0.600000000000          8           2.50
       0.005 0.650000000000         10           2.86
       0.005 0.700000000000         10           3.33
       0.005 0.750000000000         10           4.00
       0.124 0.775000000000         11           4.44
       0.124 0.800000000000         11           5.00
       0.124 0.825000000000         11           5.71
       7.655 0.850000000000         12           6.67
       7.655 0.875000000000         12           8.00
       7.655 0.887500000000         12           8.89
       7.655 0.900000000000         12          10.00
       7.655 0.912500000000         12          11.43
    1235.223 0.925000000000         13          13.33
    1235.223 1.000000000000         13
#[Mean    =       95.576, StdDeviation   =      328.842]
#[Max     =     1235.223, Total count    =           13]
#[Buckets =           32, SubBuckets     =         2048]
)";

TEST(HdrHistogram, PercentilesAreThoseOfHdrHistogram) {
  EXPECT_EQ(hdr_sample().to_hgrm(), kPercentiles);
}

std::vector<std::uint8_t> from_base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    word = word << 6U | static_cast<std::uint32_t>(kLetters.find(c));
    if ((bits += 6) >= 8) bytes.push_back(static_cast<std::uint8_t>(word >> (bits -= 8)));
  }
  return bytes;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

TEST(HdrHistogram, EncodingIsThatOfHdrHistogram) {
  const std::vector<std::uint8_t> bytes = from_base64(hdr_sample().to_base64());
  constexpr std::size_t kEncoded = 62;
  constexpr std::size_t kBefore = 4 + 4 + 2 + 5;  // cookie, length, header of zlib and of its block
  ASSERT_EQ(bytes.size(), kBefore + kEncoded + 4);
  EXPECT_EQ(hex(std::span(bytes).first(kBefore)),
            "1c849314"
            "00000049"
            "7801"
            "013e00c1ff");
  EXPECT_EQ(hex(std::span(bytes).subspan(kBefore, kEncoded)),
            "1c84931300000016000000000000000300000000000000010000034630b8a0003ff0000000000000"
            "020204c90f02ab100204c11304cb4a02835f02977502");
  EXPECT_THAT(hdr_sample().to_base64(), ::testing::StartsWith("HISTF"));
}

TEST(HdrHistogram, QuantilesAreTheHighestValueOfTheirBucket) {
  const HdrHistogram h = hdr_sample();
  EXPECT_EQ(h.count(), 13U);
  EXPECT_EQ(h.quantile(0), 0U);
  EXPECT_EQ(h.quantile(0.5), 2049U);
  EXPECT_EQ(h.quantile(0.99), 1'235'222'527U);
  EXPECT_EQ(h.max(), 1'235'222'527U);
  EXPECT_EQ(HdrHistogram().quantile(0.5), 0U);
  EXPECT_EQ(HdrHistogram().max(), 0U);
}

TEST(HdrHistogram, MergedHistogramsAreThatOfAllValues) {
  HdrHistogram h;
  HdrHistogram few;
  few.add(3);
  few.add(-1);  // the clock stepped back
  h.merge(few);
  h.merge(hdr_sample());
  EXPECT_EQ(h.count(), 15U);
  EXPECT_EQ(h.quantile(0.13), 0U);
  h.clear();
  EXPECT_EQ(h.to_hgrm(), HdrHistogram().to_hgrm());
  EXPECT_EQ(h.to_base64(), HdrHistogram().to_base64());
}

TEST(HdrHistogram, MoreThanAnHourCountsAsAnHour) {
  HdrHistogram h;
  h.add(fabric::kNever);
  EXPECT_GE(h.max(), 3'600'000'000'000U);
  EXPECT_LE(h.max(), 3'604'000'000'000U);
}

// Counts of every length, and a payload of several stored blocks.
TEST(HdrHistogram, ManyCountsAreStoredInSeveralBlocks) {
  HdrHistogram h;
  for (std::uint64_t ns = 1; ns < 3'500'000'000'000; ns += ns / 1500 + 1) {
    for (std::uint64_t n = 0; n < 70; ++n) h.add(static_cast<fabric::Time>(ns));
  }
  const std::vector<std::uint8_t> bytes = from_base64(h.to_base64());
  const std::size_t encoded = bytes.size() - 4 - 4 - 2 - 4;
  EXPECT_EQ(std::size_t{bytes[6]} << 8 | bytes[7], (encoded + 6) & 0xffff);
}

TEST(HdrHistogram, LogHasAHeaderAndALineForEachInterval) {
  EXPECT_EQ(hlog_header(1'438'869'961'225'000'000, "Logged with x"),
            "#[Logged with x]\n"
            "#[Histogram log format version 1.3]\n"
            "#[StartTime: 1438869961.225 (seconds since epoch), 2015-08-06T14:06:01Z]\n"
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
            "\"Interval_Compressed_Histogram\"\n");
  EXPECT_EQ(hlog_line(127'000'000, 1'007'000'000, hdr_sample()),
            "0.127,1.007,1235.223," + hdr_sample().to_base64() + "\n");
}

}  // namespace
}  // namespace rpcrdma::load
