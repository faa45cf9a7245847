#include <array>
#include <map>

#include <gtest/gtest.h>

#include <rpcrdma/load/choice.h>

namespace rpcrdma::load {
namespace {

std::string refusal(std::string_view text) {
  const auto sizes = Sizes::parse(text);
  return sizes ? "" : sizes.error().message;
}

TEST(Sizes, OneRangeAndList) {
  soft::Random random(1);
  const auto one = Sizes::parse("4k").value();
  EXPECT_EQ(one.pick(random), 4000U);
  EXPECT_EQ(one.largest(), 4000U);
  const auto range = Sizes::parse("0-3").value();
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < 400; ++i) ++seen[range.pick(random)];
  ASSERT_EQ(seen.size(), 4U);
  for (const auto& [size, count] : seen) {
    EXPECT_LE(size, 3U);
    EXPECT_GT(count, 50);
  }
  const auto list = Sizes::parse("1,7-7,1Mi").value();
  EXPECT_EQ(list.largest(), 1048576U);
  seen.clear();
  for (int i = 0; i < 300; ++i) ++seen[list.pick(random)];
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_GT(seen[1048576], 50);
}

TEST(Sizes, TheSameSeedGivesTheSame) {
  const auto sizes = Sizes::parse("1-1Mi").value();
  soft::Random a(7);
  soft::Random b(7);
  soft::Random c(8);
  bool differs = false;
  for (int i = 0; i < 10; ++i) {
    const auto size = sizes.pick(a);
    EXPECT_EQ(size, sizes.pick(b));
    differs = differs || size != sizes.pick(c);
  }
  EXPECT_TRUE(differs);
}

TEST(Sizes, TheWholeRangeOf32BitsCanBeDrawn) {
  soft::Random random(1);
  const auto all = Sizes::parse("0-4294967295").value();
  EXPECT_NE(all.pick(random), all.pick(random));
}

TEST(Sizes, WhatIsNoneIsRefused) {
  EXPECT_EQ(refusal("big"), "\"big\" is not a size; use bytes, or forms such as 4k, 1Mi, 512-64k");
  EXPECT_EQ(refusal("4k,"), "\"\" is not a size; use bytes, or forms such as 4k, 1Mi, 512-64k");
  EXPECT_EQ(refusal("5G"), "\"5G\" exceeds the maximum of 4294967295 bytes");
  EXPECT_EQ(refusal("1-5G"), "\"1-5G\" exceeds the maximum of 4294967295 bytes");
  EXPECT_EQ(refusal("5G-1"), "\"5G-1\" ends before it begins");
  EXPECT_EQ(Sizes::parse("4Gi", 100).error().message, "\"4Gi\" exceeds the maximum of 100 bytes");
  EXPECT_EQ(refusal("8-4"), "\"8-4\" ends before it begins");
  EXPECT_FALSE(refusal("-4").empty());
  EXPECT_FALSE(refusal("4-").empty());
  EXPECT_FALSE(refusal("").empty());
}

std::optional<std::uint32_t> known(std::string_view name) {
  constexpr std::array<const char*, 3> kNames{"null", "echo", "sink"};
  for (std::uint32_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return i;
  }
  return std::nullopt;
}

TEST(Mix, FollowsTheWeights) {
  const auto mix = Mix::parse("sink,echo:3", known).value();
  EXPECT_TRUE(mix.has(1));
  EXPECT_FALSE(mix.has(0));
  soft::Random random(3);
  std::array<int, 3> drawn{};
  for (int i = 0; i < 4000; ++i) ++drawn[mix.pick(random)];
  EXPECT_EQ(drawn[0], 0);
  EXPECT_NEAR(drawn[1], 3000, 150);
  EXPECT_NEAR(drawn[2], 1000, 150);
}

TEST(Mix, WhatMakesNoSenseIsRefused) {
  const auto why = [](std::string_view text) { return Mix::parse(text, known).error().message; };
  EXPECT_EQ(why("ecko"), "\"ecko\" is unknown");
  EXPECT_EQ(why(""), "\"\" is unknown");
  EXPECT_EQ(why("echo,echo:2"), "\"echo\" is given twice");
  EXPECT_EQ(why("echo:0"), "\"echo:0\": a weight is a whole number from 1 to 1000000");
  EXPECT_EQ(why("echo:x"), "\"echo:x\": a weight is a whole number from 1 to 1000000");
}

}  // namespace
}  // namespace rpcrdma::load
