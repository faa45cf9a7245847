// Tests the pages of `rpcrdma top --fleet`: contents, alignment at several widths, keys.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/top/fleet_draw.h>

namespace rpcrdma::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kFleetNoon = 1'793'534'400'000'000'000;  // 2026-11-01 12:00:00 UTC
constexpr std::int64_t kOneSecond = 1'000'000'000;

fleet::HostState reporting(const std::string& name) {
  fleet::HostState h;
  h.name = name;
  h.fresh = true;
  h.age_ns = kOneSecond / 2;
  h.version = "0.6.0";
  h.received = 120;
  h.running = 1;
  h.connections = 3;
  h.credits = {128, 64, 63, 5};
  h.rates = fleet::ViewRates{12345.6, 0, 0, 340.1 * (1 << 20), 0};
  h.latency = {99, 12'345, 1'234'567, 2'000'000, 3'000'000};
  h.findings = {1, 2, 0};
  fleet::EndpointState e;
  e.name = "nfsd";
  e.role = "server on 10.0.0.1";
  e.process = 4711;
  e.connections = h.connections;
  e.credits = h.credits;
  e.rates = h.rates;
  e.latency = h.latency;
  h.endpoints.push_back(e);
  return h;
}

FleetShown a_fleet(int hosts = 3) {
  FleetShown s;
  s.server = "nats://bus:4222";
  s.state.connected = true;
  s.state.wall_ns = kFleetNoon;
  for (int i = 1; i <= hosts; ++i) s.state.hosts.push_back(reporting("node" + std::to_string(i)));
  s.state.totals.hosts = static_cast<std::uint64_t>(hosts);
  s.state.totals.rates = fleet::ViewRates{37036.8, 0, 0, 0, 0};
  s.state.totals.received = 360;
  s.state.events.push_back(
      {fleet::ViewEvent::Kind::kBad, kFleetNoon, "node2", "vanished: no summary for 3 s", 1});
  FleetFinding f;
  f.wall_ns = kFleetNoon;
  f.host = "node1";
  f.endpoint = "nfsd";
  f.severity = rules::Severity::kError;
  f.rule = "FC-01";
  f.peer = "client 10.0.0.2";
  f.count = 345;
  f.text = "more Calls are in flight than the last grant";
  f.advice = "check that the client obeys the grant of each Reply";
  s.findings.push_back(f);
  return s;
}

std::string all_text(const std::vector<Line>& lines) {
  std::string all;
  for (const Line& line : lines) all += plain(line) + '\n';
  return all;
}

void expect_screen(const std::vector<Line>& lines, const Size& size) {
  ASSERT_EQ(lines.size(), size.height);
  for (const Line& line : lines) {
    std::size_t width = 0;
    for (const Piece& p : line) width += plot::terminal_width(p.text);
    EXPECT_EQ(width, size.width) << plain(line);
    for (const char c : plain(line)) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << plain(line);
    }
  }
}

TEST(FleetDraw, EveryPageFillsTheScreenExactly) {
  const FleetShown shown = a_fleet(40);
  for (const FleetPage page : {FleetPage::kHosts, FleetPage::kEndpoints, FleetPage::kFindings,
                               FleetPage::kEvents, FleetPage::kHelp}) {
    for (const Size size : {Size{80, 24}, Size{200, 60}, Size{100, 14}, Size{20, 5}, Size{1, 1}}) {
      FleetView view;
      view.page = page;
      view.row = 39;
      expect_screen(draw(shown, view, size, true), size);
      expect_screen(draw(FleetShown{}, view, size, false), size);
    }
  }
}

// The end of a right-aligned column's name is above the end of each of its values.
TEST(FleetDraw, ValuesAreBelowTheNamesOfTheirColumns) {
  FleetShown shown = a_fleet();
  shown.state.hosts[1].rates->calls = 7;
  for (const std::size_t width : {std::size_t{80}, std::size_t{200}}) {
    const std::vector<Line> lines = draw(shown, {}, {width, 24}, true);
    const std::string names = plain(lines[5]);
    const std::size_t calls = names.find("CALLS/s") + 7;
    const std::size_t credits = names.find("USE/GRANT") + 9;
    const std::size_t found = names.find("E/W") + 3;
    for (const std::size_t row : {std::size_t{6}, std::size_t{7}, std::size_t{8}}) {
      const std::string line = plain(lines[row]);
      EXPECT_EQ(line.substr(credits - 5, 5), "63/64") << line;
      EXPECT_EQ(line.substr(found - 3, 3), "1/2") << line;
      EXPECT_EQ(line[calls], ' ') << line;
      EXPECT_NE(line[calls - 1], ' ') << line;
    }
    EXPECT_EQ(names.find("LOST") != std::string::npos, width == 200);
  }
}

TEST(FleetDraw, OldStateIsDimAndSaysItsAge) {
  FleetShown shown = a_fleet();
  fleet::HostState& gone = shown.state.hosts[0];
  gone.fresh = false;
  gone.presence = fleet::HostPresence::kSilent;
  gone.age_ns = 12 * kOneSecond;
  fleet::HostState& left = shown.state.hosts[1];
  left.fresh = false;
  left.presence = fleet::HostPresence::kLeft;
  left.age_ns = 3600 * 2 * kOneSecond;
  FleetView view;
  view.host = "node3";
  const std::vector<Line> lines = draw(shown, view, {80, 24}, true);
  EXPECT_THAT(plain(lines[6]), HasSubstr("gone 12 s"));
  EXPECT_THAT(plain(lines[7]), HasSubstr("left 2 h"));
  EXPECT_THAT(plain(lines[8]), HasSubstr(" ok "));
  for (const Piece& p : lines[6]) {
    EXPECT_TRUE(p.style == Style::kDim || p.text.find("gone") != std::string::npos) << p.text;
  }
  EXPECT_THAT(all_text(lines), HasSubstr("12:00:00 node2: vanished: no summary for 3 s"));
}

TEST(FleetDraw, ADisconnectedBusIsNotOverlooked) {
  FleetShown shown = a_fleet();
  shown.state.connected = false;
  shown.state.bus = "connection refused";
  for (fleet::HostState& h : shown.state.hosts) h.fresh = false;
  const std::string text = all_text(draw(shown, {}, {80, 24}, true));
  EXPECT_THAT(text, HasSubstr("BUS DISCONNECTED"));
  EXPECT_THAT(text, HasSubstr("disconnected: connection refused"));
  EXPECT_THAT(text, HasSubstr("old 0 s"));
  EXPECT_THAT(text, Not(HasSubstr(" ok ")));
}

TEST(FleetDraw, ProblemsAndLossAreShown) {
  FleetShown shown = a_fleet();
  shown.state.hosts[0].problem = "2 agents use this name";
  shown.state.hosts[0].lost = 7;
  shown.state.totals.lost = 7;
  shown.state.refused.other_schema = 3;
  const std::string text = all_text(draw(shown, {}, {80, 24}, true));
  EXPECT_THAT(text, HasSubstr("2 agents use this name"));
  EXPECT_THAT(text, HasSubstr("lost 7"));
  EXPECT_THAT(text, HasSubstr("other version 3"));
  EXPECT_THAT(all_text(draw(shown, {}, {200, 24}, true)),
              HasSubstr("     7  2 agents use this name"));
}

TEST(FleetDraw, NamesFromTheBusAreEscaped) {
  FleetShown shown = a_fleet();
  shown.state.hosts[0].name = "\033[2Jno\nde\xff";
  shown.state.hosts[0].endpoints[0].name = "\r\x9b";
  shown.state.events[0].host = "\033]0;";
  shown.findings[0].text = "\033c";
  for (const FleetPage page : {FleetPage::kHosts, FleetPage::kEndpoints, FleetPage::kFindings}) {
    FleetView view;
    view.page = page;
    expect_screen(draw(shown, view, {120, 40}, true), {120, 40});
  }
  for (const Line& line : draw_plain(shown, 120, true)) {
    for (const char c : plain(line)) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(FleetDraw, PlainTextHasAllHostsAndEndpoints) {
  const std::string text = all_text(draw_plain(a_fleet(50), 80, false));
  EXPECT_THAT(text, HasSubstr(" node50 "));
  EXPECT_THAT(text, HasSubstr("Findings: 1"));
  EXPECT_THAT(text, HasSubstr("FC-01"));
  const std::string hosts = all_text(draw_hosts(a_fleet(50), 80, false));
  EXPECT_EQ(std::ranges::count(hosts, '\n'), 51);
}

TEST(FleetKeys, PagesTurnAndComeBack) {
  const FleetShown shown = a_fleet();
  FleetView view;
  const auto expect_toggles = [&](Key key, FleetPage page) {
    press(view, key, shown);
    EXPECT_EQ(view.page, page);
    press(view, key, shown);
    EXPECT_EQ(view.page, FleetPage::kHosts);
  };
  expect_toggles(Key::kEndpoints, FleetPage::kEndpoints);
  expect_toggles(Key::kFindings, FleetPage::kFindings);
  expect_toggles(Key::kEvents, FleetPage::kEvents);
  expect_toggles(Key::kHelp, FleetPage::kHelp);
  press(view, Key::kPause, shown);
  EXPECT_TRUE(view.paused);
  press(view, Key::kQuit, shown);
  EXPECT_TRUE(view.quit);
}

TEST(FleetKeys, TheSelectedHostOpens) {
  const FleetShown shown = a_fleet();
  FleetView view;
  press(view, Key::kDown, shown);
  EXPECT_EQ(view.host, "node2");
  press(view, Key::kLast, shown);
  EXPECT_EQ(view.host, "node3");
  press(view, Key::kUp, shown);
  press(view, Key::kOpen, shown);
  EXPECT_EQ(view.page, FleetPage::kEndpoints);
  EXPECT_EQ(view.only_host, "node2");
  const std::string text = all_text(draw(shown, view, {80, 24}, true));
  EXPECT_THAT(text, HasSubstr("nfsd on node2"));
  EXPECT_THAT(text, Not(HasSubstr("node3")));
  press(view, Key::kDown, shown);
  EXPECT_EQ(view.row, 0U);
  press(view, Key::kEndpoints, shown);
  EXPECT_EQ(view.page, FleetPage::kHosts);
  press(view, Key::kOpen, FleetShown{});
  EXPECT_EQ(view.page, FleetPage::kHosts) << "there is none to open";
}

TEST(FleetKeys, HostsThatReportComeFirst) {
  FleetShown shown = a_fleet();
  shown.state.hosts[0].rates->calls = 1e6;
  shown.state.hosts[0].fresh = false;
  shown.state.hosts[2].rates->calls = 50'000;
  const auto names = [&](FleetSort sort) {
    std::string all;
    for (const fleet::HostState* h : sorted_hosts(shown, sort)) all += h->name + " ";
    return all;
  };
  EXPECT_EQ(names(FleetSort::kName), "node1 node2 node3 ");
  EXPECT_EQ(names(FleetSort::kCalls), "node3 node2 node1 ");
  shown.state.hosts[1].findings.errors = 9;
  EXPECT_EQ(names(FleetSort::kFindings), "node2 node3 node1 ");
}

}  // namespace
}  // namespace rpcrdma::top
