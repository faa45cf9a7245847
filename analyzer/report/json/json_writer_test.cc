#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {
namespace {

std::string text_of(std::int64_t units, unsigned places) {
  return std::string(DecimalText({units, places}).view());
}

TEST(Decimal, EveryDigitStands) {
  EXPECT_EQ(text_of(1234567, 3), "1234.567");
  EXPECT_EQ(text_of(1'700'000'000'123'456'789, 6), "1700000000123.456789");
  EXPECT_EQ(text_of(42, 0), "42");
}

TEST(Decimal, ZerosThatSayNothingDoNot) {
  EXPECT_EQ(text_of(1200, 3), "1.2");
  EXPECT_EQ(text_of(1000, 3), "1");
  EXPECT_EQ(text_of(0, 3), "0");
  EXPECT_EQ(text_of(10, 6), "0.00001");
  EXPECT_EQ(text_of(100, 0), "100");
}

TEST(Decimal, BelowZero) {
  EXPECT_EQ(text_of(-1, 3), "-0.001");
  EXPECT_EQ(text_of(-2500, 3), "-2.5");
}

TEST(Decimal, Extremes) {
  EXPECT_EQ(text_of(INT64_MAX, 18), "9.223372036854775807");
  EXPECT_EQ(text_of(INT64_MIN, 18), "-9.223372036854775808");
  EXPECT_EQ(text_of(INT64_MIN, 0), "-9223372036854775808");
}

TEST(JsonWriter, LinesFollowOneAnother) {
  JsonWriter json;
  std::string text;
  for (const std::int64_t ns : {1500, -1}) {
    json.object();
    json.field("us", Decimal{ns, 3});
    json.end();
    json.line([&](std::string_view piece) { text += piece; });
  }
  EXPECT_EQ(text, "{\"us\":1.5}\n{\"us\":-0.001}\n");
}

}  // namespace
}  // namespace rpcrdma::report
