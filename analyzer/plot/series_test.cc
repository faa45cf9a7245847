#include "series.h"

#include <cmath>

#include <gtest/gtest.h>

namespace rpcrdma::plot {
namespace {

std::string shape(const Series& s, std::size_t count) {
  std::string text;
  for (const Extent& e : columns(s, {0, 10, false}, count)) {
    if (!text.empty()) text += ' ';
    if (!e.any()) {
      text += '.';
    } else {
      text += std::to_string(std::lround(e.low));
      if (e.low != e.high) text += '-' + std::to_string(std::lround(e.high));
    }
  }
  return text;
}

TEST(Series, AStepHoldsItsValueToTheEnd) {
  EXPECT_EQ(shape({"", Style::kStep, {{0, 1, ""}, {5, 3, ""}}}, 10), "1 1 1 1 1 3 3 3 3 3");
}

TEST(Series, ALineIsDrawnBetweenItsPointsOnly) {
  EXPECT_EQ(shape({"", Style::kLine, {{1, 0, ""}, {9, 80, ""}}}, 10),
            ". 0 15 25 35 45 55 65 75 80");
}

TEST(Series, DotsStandAlone) {
  EXPECT_EQ(shape({"", Style::kDots, {{1, 7, ""}, {8, 9, ""}}}, 10), ". 7 . . . . . . 9 .");
}

TEST(Series, AColumnHoldsAllItsPoints) {
  EXPECT_EQ(shape({"", Style::kArea, {{0, 4, ""}, {1, 9, ""}, {2, 2, ""}, {6, 5, ""}}}, 2),
            "2-9 5");
}

TEST(Series, WhatIsNoNumberIsAGap) {
  EXPECT_EQ(shape({"", Style::kStep, {{0, 1, ""}, {3, std::nan(""), ""}, {7, 2, ""}}}, 10),
            "1 1 1 . . . . 2 2 2");
}

TEST(Series, NegativeAndHugeValuesAreHeldBack) {
  EXPECT_EQ(columns({"", Style::kDots, {{0, -5, ""}}}, {0, 1, false}, 1)[0].low, 0);
  EXPECT_EQ(columns({"", Style::kDots, {{0, INFINITY, ""}}}, {0, 1, false}, 1)[0].high, kLargest);
}

}  // namespace
}  // namespace rpcrdma::plot
