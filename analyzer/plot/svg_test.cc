// Tests of the SVG plots: paths, sizes, escaping.
#include "svg_frame.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <rpcrdma/plot/svg.h>

namespace rpcrdma::plot {
namespace {

// Lists each path on a line of its own: its class without the colour, and its data.
std::string paths(const std::string& svg) {
  const std::string begin = "<path class=\"";
  const std::string middle = "\" d=\"";
  std::string out;
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at)) {
    at += begin.size();
    const std::string kind = svg.substr(at, 2);
    const std::size_t d = svg.find(middle, at);
    const std::size_t end = svg.find("\"/>\n", d);
    if ((kind != "li" && kind != "ar") || svg.substr(at + 2, 2) != " s" || d != at + 5) continue;
    out += fmt::format("{}{} {}\n", kind, svg[at + 4],
                       svg.substr(d + middle.size(), end - d - middle.size()));
  }
  return out;
}

// 100 by 100 pixels for values: 76 left, 14 right, 30 above, 24 below.
const Svg kSquare{190, 154, "p", false};

TEST(Svg, LinesStepsAndAreas) {
  Chart chart;
  chart.x_end = 10;
  chart.series = {{"", Style::kLine, {{0, 0, ""}, {5, 1, ""}}}};
  EXPECT_EQ(paths(to_svg(chart, kSquare)), "li0 M76 130L126 30\n");
  chart.series[0].style = Style::kStep;
  EXPECT_EQ(paths(to_svg(chart, kSquare)), "li0 M76 130H126V30H176\n");
  chart.series[0].style = Style::kArea;
  EXPECT_EQ(paths(to_svg(chart, kSquare)), "ar0 M76 130V130H126V30H176V130Z\n");
}

TEST(Svg, ALogarithmicAxisGivesEachDecadeAsMuchRoom) {
  Chart chart;
  chart.x_log = true;
  chart.series = {{"", Style::kLine, {{1, 0, ""}, {10, 1, ""}, {100, 0, ""}}}};
  EXPECT_EQ(paths(to_svg(chart, kSquare)), "li0 M76 130L126 30L176 130\n");
}

TEST(Svg, AGapBreaksThePath) {
  Chart chart;
  chart.x_end = 10;
  chart.series = {{"", Style::kStep, {{0, 1, ""}, {1, std::nan(""), ""}, {2, 1, ""}}}};
  EXPECT_EQ(paths(to_svg(chart, kSquare)), "li0 M76 30H86M96 30H176\n");
}

TEST(Svg, TextIsEscaped) {
  const std::string evil = "</title><script>alert(1)</script>\"'&";
  Chart chart;
  chart.title = evil;
  chart.description = evil;
  chart.series = {{evil, Style::kLine, {{0, 1, ""}}}, {evil, Style::kDots, {{0, 1, evil}}}};
  const Bars bars{evil, evil, Unit::kCount, {{evil, 1, evil}}};
  for (const std::string& svg :
       {to_svg(chart, {}), to_svg(bars, {}),
        to_svg(Histogram{evil, evil, Unit::kSeconds, {{1, 2, 3}}}, {}),
        to_svg(HeatMap{evil, evil, Unit::kSeconds, Unit::kSeconds, {0, 1}, {1, 2}, {1}}, {})}) {
    EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(svg.find("\"'&"), std::string::npos);
  }
}

TEST(Svg, IsThereForThoseWhoDoNotSeeIt) {
  Chart chart;
  chart.title = "Credits";
  chart.description = "Granted 64 from the start.";
  chart.series = {{"granted", Style::kStep, {{0, 64, ""}}}};
  const std::string svg = to_svg(chart, {640, 240, "c1", false});
  EXPECT_NE(svg.find("role=\"img\" aria-labelledby=\"c1-t c1-d\""), std::string::npos);
  EXPECT_NE(svg.find("<title id=\"c1-t\">Credits</title>"
                     "<desc id=\"c1-d\">Granted 64 from the start.</desc>"),
            std::string::npos);
}

TEST(Svg, OneStyleSheetForAll) {
  Chart chart;
  chart.series = {{"", Style::kLine, {{0, 1, ""}}}};
  EXPECT_EQ(to_svg(chart, {640, 240, "a", false}).find("<style>"), std::string::npos);
  EXPECT_NE(to_svg(chart, {640, 240, "a", true}).find("prefers-color-scheme:dark"),
            std::string::npos);
}

TEST(Svg, AHistogramShowsItsCounts) {
  const Histogram histogram{"Latency", "", Unit::kSeconds, {{1e-3, 1.1e-3, 3}, {1, 1.1, 1}}};
  const std::string svg = to_svg(histogram, {});
  EXPECT_NE(svg.find("<title>1 ms to 1.334 ms: 3 (75.00%)</title>"), std::string::npos) << svg;
}

TEST(Svg, AHeatMapIsDrawnCellByCell) {
  HeatMap map{"", "", Unit::kSeconds, Unit::kSeconds, {0, 1, 2}, {1e-3, 1e-2, 1e-1}, {}};
  map.cells = {100, 0, 0, 1};  // first column: low row; second: high row
  const std::string svg = to_svg(map, {190, 172, "p", false});  // 48 above
  EXPECT_NE(svg.find("fill-opacity=\"1.00\" d=\"M76 98H126V148H76Z\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("fill-opacity=\"0.16\" d=\"M126 48H176V98H126Z\""), std::string::npos) << svg;
  // Inconsistent data is not drawn.
  map.cells.pop_back();
  EXPECT_EQ(to_svg(map, {}), "");
  EXPECT_EQ(to_svg(HeatMap{"", "", Unit::kSeconds, Unit::kSeconds, {0, 1}, {2, 1}, {1}}, {}), "");
}

TEST(Svg, NothingToDrawGivesNothing) {
  EXPECT_EQ(to_svg(Chart{}, {}), "");
  EXPECT_EQ(to_svg(Bars{}, {}), "");
  EXPECT_EQ(to_svg(Histogram{}, {}), "");
  EXPECT_EQ(to_svg(HeatMap{}, {}), "");
}

TEST(Svg, SizeDoesNotGrowWithThePoints) {
  for (const Style style : {Style::kLine, Style::kStep, Style::kArea, Style::kDots}) {
    Chart chart;
    chart.series = {{"", style, {}}};
    for (int i = 0; i < 200000; ++i) {
      chart.series[0].points.push_back({static_cast<double>(i), static_cast<double>(i % 97), ""});
    }
    EXPECT_LT(to_svg(chart, {}).size(), 100000U);
  }
  HeatMap map{"", "", Unit::kSeconds, Unit::kSeconds, {0}, {1, 2, 4, 8}, {}};
  for (int i = 1; i <= 100000; ++i) {
    map.x.push_back(i);
    map.cells.insert(map.cells.end(), {1, 2, 3});
  }
  EXPECT_LT(to_svg(map, {}).size(), 20000U);
}

TEST(Svg, EveryNumberIsANumber) {
  const double inf = std::numeric_limits<double>::infinity();
  const double max = std::numeric_limits<double>::max();
  for (const auto& points :
       std::vector<std::vector<Point>>{{{5, 5, ""}},
                                       {{0, 0, ""}, {1, 0, ""}},
                                       {{0, max, ""}, {1, -max, ""}, {2, inf, ""}, {inf, 1, ""}},
                                       {{-max, 1, ""}, {max, 2, ""}},
                                       {{1e18, 1, ""}, {1e18 + 256, 3, ""}},
                                       {{3, 1, ""}, {2, 5, ""}, {1, 1, ""}}}) {
    for (const Style style : {Style::kLine, Style::kStep, Style::kArea, Style::kDots}) {
      for (const bool log : {false, true}) {
        const Chart chart{"",  "",           Unit::kSeconds,       Unit::kBytes,
                          log, std::nullopt, {{"", style, points}}};
        const std::string svg = to_svg(chart, {640, 240, "p", false});
        ASSERT_NE(svg, "");
        for (const std::string name : {" d=\"", " cx=\"", " cy=\"", " x=\"", " y=\""}) {
          for (std::size_t at = svg.find(name); at != std::string::npos; at = svg.find(name, at)) {
            at += name.size();
            const std::size_t end = svg.find_first_not_of("MHLVZv0123456789. -", at);
            EXPECT_EQ(svg.substr(end, 1), "\"") << svg;
          }
        }
      }
    }
  }
}

TEST(Svg, ClockTexts) {
  EXPECT_EQ(clock_text(59.5), "59.5 s");
  EXPECT_EQ(clock_text(65), "1:05");
  EXPECT_EQ(clock_text(65.25), "1:05.25");
  EXPECT_EQ(clock_text(119.999), "2:00");
  EXPECT_EQ(clock_text(7380), "2:03:00");
}

TEST(Svg, PicturesWithOneWindowHaveOneAxis) {
  const Window window{0, 100, {{10, 90}}};
  Chart chart;
  chart.title = "c";
  chart.window = window;
  chart.series = {{"", Style::kStep, {{95, 1, ""}}}};
  HeatMap map{"m", "", Unit::kSeconds, Unit::kSeconds, {1, 2}, {1, 2}, {1}, window};
  const auto axis = [](const std::string& svg) {
    const std::size_t at = svg.find("class=\"ax\"");
    const std::size_t to = svg.find("</svg>", at);
    const std::string tail = svg.substr(at, to - at);
    std::string labels;  // and their positions; the y axis may differ
    for (std::size_t x = 0; (x = tail.find("<text x=\"", x)) != std::string::npos; ++x) {
      labels +=
          tail.substr(x + 9, tail.find('"', x + 9) - x - 9) + tail.substr(tail.find('>', x), 9);
    }
    return labels;
  };
  const std::string of_chart = axis(to_svg(chart, {}));
  EXPECT_FALSE(of_chart.empty());
  EXPECT_EQ(of_chart, axis(to_svg(map, {})));
  EXPECT_NE(to_svg(chart, {}).find("1.333 min without traffic"), std::string::npos);
}

TEST(Svg, SpansShowDotBarAndLine) {
  Spans spans{"s",
              "",
              Unit::kSeconds,
              {{"a<b", 1e-3, 5e-3, 9e-3, "7 Calls", false},
               {"zero", 0, 1, 1, "", false},
               {"wrong order", 2, 1, 3, "", true}}};
  const std::string svg = to_svg(spans, {});
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("7 Calls"), std::string::npos);
  EXPECT_EQ(svg.find("zero"), std::string::npos);
  EXPECT_EQ(svg.find("wrong order"), std::string::npos);
  spans.rows.erase(spans.rows.begin());
  EXPECT_EQ(to_svg(spans, {}), "");
}

}  // namespace
}  // namespace rpcrdma::plot
