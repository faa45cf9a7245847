// Tests the picture of steps: what it draws, hatches and leaves out.
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/plot/svg.h>

namespace rpcrdma::plot {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Waterfall one_row() {
  Waterfall w;
  w.title = "w";
  w.lanes = {"client", "network", "server"};
  w.unknown = "unknown";
  w.rows = {{"a<b", 0.010, {{0, 0.004, 0, "posting"}, {0.004, 0.010, 2, "executing"}}, "10 ms"}};
  return w;
}

TEST(Waterfall, EachStepIsABarInItsLane) {
  const std::string svg = to_svg(one_row(), {1040, 0, "w", false});
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("10 ms"), std::string::npos);
  EXPECT_NE(svg.find("<title>posting</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>executing</title>"), std::string::npos);
  // Two bars, and three colours in the legend.
  EXPECT_EQ(count_of(svg, "class=\"st\""), 5U);
  EXPECT_EQ(count_of(svg, "<g class=\"s1\">"), 1U);
  EXPECT_EQ(count_of(svg, "<g class=\"s2\">"), 2U);
}

TEST(Waterfall, WhatNoStepCoversIsHatched) {
  Waterfall w = one_row();
  // All is covered: the legend alone is hatched.
  EXPECT_EQ(count_of(to_svg(w, {}), "class=\"un\""), 1U);
  w.rows[0].steps[1].begin = 0.006;
  EXPECT_EQ(count_of(to_svg(w, {}), "class=\"un\""), 2U);
  w.rows[0].steps.clear();
  EXPECT_EQ(count_of(to_svg(w, {}), "class=\"un\""), 2U);
  w.unknown.clear();
  EXPECT_EQ(count_of(to_svg(w, {}), "class=\"un\""), 1U);
}

TEST(Waterfall, ItsSizeDoesNotDependOnTimes) {
  Waterfall w = one_row();
  w.rows[0].steps.clear();
  w.rows[0].end = 1e30;
  EXPECT_LT(to_svg(w, {1040, 0, "w", false}).size(), 20000U);
  w.rows[0].end = 1e-15;
  EXPECT_LT(to_svg(w, {1040, 0, "w", false}).size(), 20000U);
}

TEST(Waterfall, WhatCannotBeDrawnIsLeftOut) {
  Waterfall w = one_row();
  w.rows[0].steps.push_back({0.008, 0.002, 0, "backwards"});
  w.rows[0].steps.push_back({0.001, 0.002, 7, "no such lane"});
  const std::string svg = to_svg(w, {});
  EXPECT_EQ(svg.find("backwards"), std::string::npos);
  EXPECT_EQ(svg.find("no such lane"), std::string::npos);
  w.rows[0].end = 0;
  EXPECT_EQ(to_svg(w, {}), "");
  w.rows.clear();
  EXPECT_EQ(to_svg(w, {}), "");
}

TEST(Waterfall, NarrowPicturesHaveTheTextsToo) {
  const std::string svg = to_svg(one_row(), {480, 0, "w", false});
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("10 ms"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::plot
