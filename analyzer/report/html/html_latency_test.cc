// Tests the tiles of the page, who is slow, and that charts over time have one axis.
#include "captures_for_tests.h"
#include "html/html.h"
#include "report_for_tests.h"

#include <set>

#include <gmock/gmock.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kPageSecond = 1'000'000'000;

// Two clients; the second one is slower in the same procedure.
Report two_clients() {
  Report r = report_with("10.0.0.2");
  const ProcedureKey key = r.procedures.begin()->first;
  Connection slow = r.connections[0];
  slow.id = ++r.connection_ids;
  slow.side[0].address = "10.0.0.3";
  r.connections.push_back(slow);
  ConnectionLatency& latency = r.latencies.connections.emplace_back();
  latency.connection = 2;
  for (int i = 0; i < 20; ++i) {
    r.latencies.connections[0].direction[0].add(key, 3'000'000);
    latency.direction[0].add(key, 12'000'000);
    r.procedures[key].total.add(3'000'000);
  }
  return r;
}

// The x axis of each picture drawn for wide screens: positions and texts of the labels.
std::set<std::string> axes(const std::string& html) {
  std::set<std::string> all;
  const std::string begin = "<div class=\"wider\">";
  for (std::size_t at = html.find(begin); at != std::string::npos; at = html.find(begin, at + 1)) {
    const std::string svg = html.substr(at, html.find("</svg>", at) - at);
    const std::size_t axis = svg.rfind("<path class=\"ax\"");
    EXPECT_NE(axis, std::string::npos);
    // The path begins at the bottom of the picture, whose height is not part of the axis.
    std::string labels;
    for (std::size_t x = axis; (x = svg.find("<text x=\"", x)) != std::string::npos; ++x) {
      labels += svg.substr(x + 9, svg.find('"', x + 9) - x - 9) + ' ';
      const std::size_t text = svg.find('>', x) + 1;
      labels += svg.substr(text, svg.find('<', text) - text) + ';';
    }
    all.insert(labels);
  }
  return all;
}

TEST(HtmlLatency, ChartsOverTimeHaveOneAxis) {
  Report idle = report_with("x");
  idle.capture.last_ns += 100 * kPageSecond;
  for (const Report& r :
       {idle, testing::report_of("linux-nfs3.pcap"), testing::report_of("linux-nfs41.pcap"),
        testing::report_of("linux-deleg.pcap")}) {
    const std::string html = html::over_time(r) + html::credits(r) + html::latency(r);
    const auto found = axes(html);
    ASSERT_EQ(found.size(), 1U) << *found.begin() << "\n" << *found.rbegin();
    EXPECT_THAT(*found.begin(), HasSubstr("s;"));
  }
  EXPECT_THAT(html::over_time(idle), HasSubstr("cut where nothing happened"));
  EXPECT_THAT(html::over_time(idle), HasSubstr("class=\"cu\""));
}

TEST(HtmlLatency, EachPictureIsThereForWideAndForNarrowScreens) {
  const std::string html = html::who_is_slow(two_clients());
  std::size_t wide = 0;
  std::size_t narrow = 0;
  for (std::size_t at = 0; (at = html.find("class=\"wider\"", at)) != std::string::npos; ++at)
    ++wide;
  for (std::size_t at = 0; (at = html.find("class=\"narrower\"", at)) != std::string::npos; ++at) {
    ++narrow;
  }
  EXPECT_EQ(wide, 3U);  // clients, procedures, sizes
  EXPECT_EQ(narrow, wide);
  // IDs stay unique.
  std::set<std::string> ids;
  for (std::size_t at = 0; (at = html.find(" id=\"", at)) != std::string::npos; ++at) {
    EXPECT_TRUE(ids.insert(html.substr(at, html.find('"', at + 5) - at)).second);
  }
}

TEST(HtmlLatency, TheSlowestClientIsATile) {
  const std::string tiles = html::tiles(two_clients());
  EXPECT_THAT(tiles, HasSubstr("Slowest client: 10.0.0.3, p50 / max"));
  EXPECT_THAT(tiles, HasSubstr("12 ms / 12 ms, 4.0x"));
  const std::string one = html::tiles(report_with("10.0.0.2"));
  EXPECT_THAT(one, Not(HasSubstr("Slowest client")));
  EXPECT_THAT(one, HasSubstr("<dt>Credits: least granted / most in use</dt><dd>64 / 2</dd>"));
  EXPECT_THAT(one, HasSubstr("<dt>Calls</dt><dd>2</dd>"));
}

TEST(HtmlLatency, TheSlowestComesFirstAndIsMarked) {
  const std::string html = html::who_is_slow(two_clients());
  EXPECT_LT(html.find("10.0.0.3"), html.find("10.0.0.2"));
  EXPECT_THAT(html, HasSubstr("<g class=\"s1\">"));
  EXPECT_THAT(html, HasSubstr("4.0x"));
  EXPECT_EQ(html::who_is_slow(Report{}), "");
}

TEST(HtmlLatency, AQuantileOfTooFewCallsIsAnEmptyCell) {
  html::Table table("t");
  html::latency_columns(table);
  base::Histogram h;
  h.add(5000);
  table.row();
  html::latency_cells(table, h);
  const std::string html = table.take();
  std::size_t shown = 0;
  for (std::size_t at = 0; (at = html.find("5 us", at)) != std::string::npos; ++at) ++shown;
  EXPECT_EQ(shown, 1U) << html;
}

}  // namespace
}  // namespace rpcrdma::report
