// Tests of the plots for terminals, character by character.
#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/terminal.h>

namespace rpcrdma::plot {
namespace {

Chart credits() {
  Chart chart;
  chart.title = "Credits";
  chart.x_end = 4;
  chart.series = {{"granted", Style::kStep, {{0, 2, ""}, {2, 4, ""}}},
                  {"in use", Style::kArea, {{0, 1, ""}, {1, 2, ""}, {3, 0, ""}}}};
  return chart;
}

TEST(Terminal, AChart) {
  EXPECT_EQ(to_terminal(credits(), {23, 4, true, false}),
            "Credits\n"
            "4 ┤          ⡏⠉⠉⠉⠉⠉⠉⠉⠉⠉\n"
            "  │          ⡇\n"
            "2 ┤⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉█████\n"
            "  │███████████████\n"
            "0 └┴─────────┴────────┴\n"
            "  0 s       2 s     4 s\n"
            "   ⠒⠒ granted\n"
            "   ▄▄ in use\n");
}

TEST(Terminal, AChartInAscii) {
  EXPECT_EQ(to_terminal(credits(), {27, 4, false, false}),
            "Credits\n"
            "4 +            ************\n"
            "  |            *\n"
            "2 +************######\n"
            "  |##################\n"
            "0 ++-----------+----------+\n"
            "  0 s         2 s       4 s\n"
            "   ** granted   ## in use\n");
}

TEST(Terminal, ColourIsForThoseWhoAsk) {
  EXPECT_EQ(to_terminal(credits(), {60, 4, true, false}).find('\033'), std::string::npos);
  const std::string coloured = to_terminal(credits(), {60, 4, true, true});
  EXPECT_NE(coloured.find("\033[36m"), std::string::npos);
  // The plot without its colour codes is the same.
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  EXPECT_EQ(plain, to_terminal(credits(), {60, 4, true, false}));
}

TEST(Terminal, Bars) {
  const Bars bars{
      "Calls", "", Unit::kCount, {{"READ", 4, "40%"}, {"GETATTR", 6, ""}, {"x", 0, ""}}};
  EXPECT_EQ(to_terminal(bars, {28, 8, true, false}),
            "Calls\n"
            "READ    4 40% █████████▍\n"  // 4/6 of 14 columns
            "GETATTR 6     ██████████████\n"
            "x       0\n");
  EXPECT_EQ(to_terminal(bars, {28, 8, false, false}),
            "Calls\n"
            "READ    4 40% #########\n"
            "GETATTR 6     ##############\n"
            "x       0\n");
}

TEST(Terminal, AHistogramOfDecadesAndTheirParts) {
  const Histogram histogram{
      "Latency", "", Unit::kSeconds, {{1e-3, 1.1e-3, 3}, {1.9e-3, 1.95e-3, 1}, {6e-3, 6e-3, 4}}};
  EXPECT_EQ(to_terminal(histogram, {28, 8, false, false}),
            "Latency\n"
            "1 ms - 4 50.0% #############\n"
            "2 ms - 0  0.0%\n"
            "5 ms - 4 50.0% #############\n");
}

TEST(Terminal, NothingToDrawGivesNothing) {
  EXPECT_EQ(to_terminal(Chart{}, {}), "");
  EXPECT_EQ(to_terminal(Bars{}, {}), "");
  EXPECT_EQ(to_terminal(Histogram{}, {}), "");
  Chart empty;
  empty.series = {{"a", Style::kLine, {}}, {"b", Style::kArea, {{std::nan(""), 1, ""}}}};
  EXPECT_EQ(to_terminal(empty, {}), "");
}

bool valid_and_fits(const std::string& text, const Terminal& t) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    // The blocks and braille of the plot are one column wide, like all that fit_terminal() counts
    // as one.
    if (terminal_width(line) > t.width) return false;
    for (const char c : line) {
      if (!t.utf8 && static_cast<unsigned char>(c) >= 0x80) return false;
    }
  }
  return true;
}

TEST(Terminal, NeverWiderThanAsked) {
  const double inf = std::numeric_limits<double>::infinity();
  const double max = std::numeric_limits<double>::max();
  const std::vector<std::vector<Point>> shapes = {
      {{5, 5, ""}},
      {{0, 0, ""}, {1, 0, ""}, {2, 0, ""}},
      {{0, max, ""}, {1, -max, ""}, {2, inf, ""}, {inf, 1, ""}},
      {{-max, 1, ""}, {max, 2, ""}},
      {{1e18, 1, ""}, {1e18 + 256, 3, ""}},
      {{0, std::nan(""), ""}, {1, 1e-300, ""}},
      {{3, 1, ""}, {2, 5, ""}, {1, 1, ""}},  // out of order
  };
  int drawn = 0;
  for (std::size_t width = 0; width <= 90; width += 3) {
    for (const bool utf8 : {false, true}) {
      for (const std::size_t height :
           {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{20}}) {
        const Terminal t{width, height, utf8, false};
        for (const auto& points : shapes) {
          for (const Style style : {Style::kLine, Style::kStep, Style::kArea, Style::kDots}) {
            for (const bool log : {false, true}) {
              Chart chart{
                  "A title which is rather long for so narrow a plot, with an \xff and a 漢",
                  "",
                  Unit::kSeconds,
                  Unit::kBytesPerSecond,
                  log,
                  std::nullopt,
                  {{"first", style, points}, {"second 漢字\n", Style::kLine, points}}};
              const std::string text = to_terminal(chart, t);
              EXPECT_TRUE(valid_and_fits(text, t)) << width << '\n' << text;
              drawn += text.empty() ? 0 : 1;
            }
          }
          Bars bars{"Bars", "", Unit::kBytes, {}};
          Histogram histogram{"Histogram", "", Unit::kSeconds, {}};
          for (const Point& p : points) {
            bars.bars.push_back({"label 漢字 of the bar", p.y, "note"});
            histogram.buckets.push_back({p.x, p.y, std::numeric_limits<std::uint64_t>::max()});
          }
          EXPECT_TRUE(valid_and_fits(to_terminal(bars, t), t)) << to_terminal(bars, t);
          EXPECT_TRUE(valid_and_fits(to_terminal(histogram, t), t)) << to_terminal(histogram, t);
        }
      }
    }
  }
  EXPECT_GT(drawn, 1000);
}

}  // namespace
}  // namespace rpcrdma::plot
