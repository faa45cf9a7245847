// Tests the screens of `rpcrdma top`: contents, and that every line is exactly as wide as the
// screen.
#include <algorithm>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/top/draw.h>

namespace rpcrdma::top {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNoon = 1'793'534'400'000'000'000;  // 2026-11-01 12:00:00 UTC

Shown busy(std::uint32_t connections = 3) {
  Shown s;
  s.now_ns = kNoon;
  s.measured = true;
  s.endpoints.push_back({"nfsd", "server on 10.0.0.1", false, {}});
  s.events.emitted = s.events.received = 1234567;
  s.events_rate = 512345;
  s.totals.calls = 98765;
  s.rates.calls = 12345.6;
  s.rates.chunk_bytes = {0, 340.1 * (1 << 20), 1e12};
  s.latency = {12'345, 1'234'567};
  s.connections = s.open = connections;
  for (std::uint32_t i = 1; i <= connections; ++i) {
    ShownConnection c;
    c.id = i;
    c.endpoint = "nfsd";
    c.local = "10.0.0.1.17";
    c.peer = "10.0.0.2.291";
    c.state = "open";
    c.open = true;
    c.rates.calls = 4000;
    c.latency = {12'345, 45'678};
    c.credits = {128, 64, 63, 5, 0};
    for (std::uint32_t n = 0; n < kHistory; ++n) c.history.push_back({128, 64, n % 65, n / 100, 0});
    s.rows.push_back(c);
  }
  s.found = {1, 2, 0};
  ShownFinding f;
  f.severity = rules::Severity::kError;
  f.rule = "FC-01";
  f.connection = 2;
  f.peer = "client 10.0.0.2";
  f.count = 345;
  f.last_ns = kNoon;
  f.text = "more Calls are in flight than the last grant";
  f.advice = "check that the client obeys the grant of each Reply";
  s.findings.push_back(f);
  return s;
}

std::string text(const std::vector<Line>& lines) {
  std::string all;
  for (const Line& line : lines) all += plain(line) + '\n';
  return all;
}

void expect_exact(const std::vector<Line>& lines, const Size& size) {
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

// With devices, a fabric, and connections whose both ends are shown.
Shown followed() {
  Shown s = busy();
  states::Counts& c = s.outstanding;
  c.calls = {0, 12, 3, 4, 56, 7, 8};
  c.visible = 0b1111110;
  c.hidden = 0b0000011;
  s.rows[0].outstanding = c;
  s.rows[0].outstanding.uncertain = true;
  s.rows[0].outstanding.earlier = 9;
  s.network.push_back({"mlx5_0/1", true, {12.4, 0, 3, std::nullopt, 12345, 0}, {}});
  s.network.back().total = {1, 0, 3, std::nullopt, 5, 0};
  s.network.push_back({"nfsd", false, {}, {}});
  s.network_history = {0, 5, 10};
  ShownEnds& e = s.ends.emplace_back();
  e.id = 1;
  e.calls = 980;
  e.at_client = 0.05;
  e.there = 0.1;
  e.at_server = 0.804;
  e.back = 0.046;
  e.unknown = 0;
  e.p50_ns = 20'000'000;
  e.bound_ns = 1200;
  e.side = ends::Side::kServer;
  e.slow = 970;
  e.stage = ends::Stage::kExecute;
  s.ends.emplace_back().id = 2;
  return s;
}

TEST(Draw, WhereCallsAreAndBothEndsAtOnce) {
  View view;
  view.selected = 1;
  const std::string screen = text(draw(followed(), view, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr(" Now in   slot ? credit 12+ prepare 3 posted 4 server 56 moving 7 "
                                "answered 8\n"));
  EXPECT_THAT(screen, HasSubstr(" Device/s mlx5_0/1        out of seq 12.4  RNR 0  timeouts 3  CNP "
                                "12.3 k  ECN 0\n"));
  EXPECT_THAT(screen, HasSubstr("   ID BOTH/s     p50 CLIENT THERE SERVER DATA BACK    ?    CLOCK"
                                " SLOW NOW\n"));
  EXPECT_THAT(screen,
              HasSubstr("    1    980   20 ms     5%   10%    80%    ?   5%   0%  ±1.2 us server "
                        "970/980\n"));
  const std::string wide = text(draw(followed(), view, {120, 60}, false));
  EXPECT_THAT(wide, HasSubstr("+-1.2 us server 970/980: executing\n"));
  EXPECT_THAT(wide, HasSubstr("no Calls"));
  EXPECT_THAT(wide, HasSubstr("Fabric/s nfsd"));
  EXPECT_THAT(wide, HasSubstr("network "));
  EXPECT_THAT(wide, HasSubstr(" Now in   slot ?  credit ~12+  prepare ~3  posted ~4  server ~56  "
                              "moving ~7  answered ~8  earlier 9\n"));
}

Shown counted() {
  Shown s = busy(1);
  s.endpoints = {{"kernel", "client of Linux 6.1", false, {}}};
  s.endpoints[0].source = trace::EventSource::kKernelSums;
  s.found = {};
  s.findings.clear();
  ShownCounts& counts = s.rows[0].counts.emplace();
  counts.sums.credit_waits = 12;
  counts.sums.credit_wait_ns = 30'000'000;
  counts.sums.flushed = 2;
  s.rows[0].totals.chunk_bytes = {1 << 20, 3 << 20, 0};
  s.rows[0].rates.chunk_bytes = {0, 2 << 20, 0};
  counts.procedures = {{"NFS v3 READ", 98765, 3, 4000, {1'000'000, 20'000'000}, 55'000'000},
                       {"NFS v3 LOOKUP", 12, 0, 0, {}, 1'000'000}};
  return s;
}

TEST(Draw, ProceduresOfAConnectionWhoseCallsAreCounted) {
  View view;
  view.selected = 1;
  const Size size{80, 24};
  const std::vector<Line> lines = draw(counted(), view, size, true);
  expect_exact(lines, size);
  const std::string screen = text(lines);
  EXPECT_THAT(screen, HasSubstr("kernel: client of Linux 6.1"));
  EXPECT_THAT(screen, HasSubstr("Procedures of 1"));
  EXPECT_THAT(screen, HasSubstr("counted in the kernel; not judged"));
  EXPECT_THAT(screen,
              ::testing::ContainsRegex("NFS v3 READ +4000 +1 ms +20 ms  all 98[.]8 k  errors 3"));
  EXPECT_THAT(screen, HasSubstr("credit waits 12 (30 ms)  flushed 2"));
  EXPECT_THAT(screen, HasSubstr("Read 1 MiB, 0 B/s   Write and Reply 3 MiB, 2 MiB/s"));
  EXPECT_THAT(screen, HasSubstr(" Chunks   Read 0 B/s          Write and Reply 340.1 MiB/s"));
  EXPECT_THAT(screen, Not(HasSubstr("Findings")));
  // Their page says why there are none.
  view.page = Page::kFindings;
  EXPECT_THAT(text(draw(counted(), view, size, true)), HasSubstr("counted, not judged"));
}

TEST(Draw, CountsForAFile) {
  const std::string screen = text(draw_plain(counted(), 80, true));
  EXPECT_THAT(screen, HasSubstr("NFS v3 READ"));
  EXPECT_THAT(screen, HasSubstr("NFS v3 LOOKUP"));
  EXPECT_THAT(screen, HasSubstr(" Trouble   credit waits 12 (30 ms)  flushed 2"));
  EXPECT_THAT(screen, HasSubstr("Calls are counted, not judged"));
}

TEST(Draw, SaysWhatThereIs) {
  const std::string screen = text(draw(busy(), {}, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr("nfsd: server on 10.0.0.1"));
  EXPECT_THAT(screen, HasSubstr("3 connections, 3 open  12:00:00 UTC"));
  EXPECT_THAT(screen, HasSubstr("complete  emitted 1234567 = received 1234567 + lost 0  512 k/s"));
  EXPECT_THAT(screen, HasSubstr("p50 12.3 us"));
  EXPECT_THAT(screen, HasSubstr("p99 1.23 ms"));
  EXPECT_THAT(screen, HasSubstr("Write 340.1 MiB/s"));
  EXPECT_THAT(screen, HasSubstr("63/64"));
  EXPECT_THAT(screen, HasSubstr("error   FC-01"));
  EXPECT_THAT(screen, HasSubstr("1 error, 2 warnings, 0 notes"));
  EXPECT_THAT(screen, HasSubstr("q quit"));
}

TEST(Draw, AConnectionOutsideOfTheSampleIsNotIdle) {
  Shown s = busy(2);
  s.rows[1].in_sample = false;
  s.rows[1].rates = {};
  s.rows[1].state = "not sampled";
  const auto lines = draw(s, {}, {80, 24}, false);
  expect_exact(lines, {80, 24});
  EXPECT_THAT(text(lines), HasSubstr("        -     not sampled         -     -"));
}

TEST(Draw, TheSelectedConnectionIsShownWhole) {
  View view;
  view.selected = 2;
  const std::string screen = text(draw(busy(), view, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr("2: client 10.0.0.2.291 > server 10.0.0.1.17"));
  EXPECT_THAT(screen, HasSubstr("requested 128  granted 64  in use 63  waiting 5"));
  EXPECT_THAT(screen, HasSubstr("█"));
  const std::string ascii = text(draw(busy(), view, {80, 24}, false));
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) == 0; }));
  EXPECT_THAT(ascii, HasSubstr("##"));
}

TEST(Draw, AClientWithAllItsOwnCreditsInUseLacksNone) {
  Shown s = busy(1);
  s.rows[0].credits = {8, 32, 8, 0, 8};
  s.rows[0].history.assign(kHistory, {8, 32, 8, 0, 8});
  s.rows[0].inline_call = s.rows[0].inline_reply = 4096;
  View view;
  view.selected = 1;
  const auto lines = draw(s, view, {80, 24}, true);
  EXPECT_THAT(text(lines), HasSubstr("requested 8  granted 32  limit 8  in use 8  waiting 0"));
  EXPECT_THAT(text(lines), HasSubstr("8/32"));
  EXPECT_THAT(text(lines), HasSubstr("inline 4096/4096"));
  for (const Line& line : lines) {
    for (const Piece& p : line) {
      EXPECT_FALSE(p.style == Style::kWarning && p.text.find("█") != std::string::npos);
    }
  }
}

TEST(Draw, TroubleHasRoomIn80Columns) {
  Shown s = busy();
  s.waiting = 1234;
  s.totals.errors = 567;
  s.faults = 89;
  s.rows[1].sent_again = 1234;
  s.rows[1].naks = 56;
  s.rows[1].rnr_naks = 789;
  s.rows[1].totals.errors = 12;
  s.rows[1].totals.calls = s.rows[1].totals.replies = 98'765;
  s.rows[1].inline_call = s.rows[1].inline_reply = 4096;
  View view;
  view.selected = 2;
  const std::string screen = text(draw(s, view, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr("waiting 1234  errors 567  faults 89"));
  EXPECT_THAT(screen, HasSubstr("retrans 1234  NAK 56  RNR 789\n"));
  EXPECT_THAT(screen, HasSubstr("inline 4096/4096"));
}

TEST(Draw, ConnectionsOfOnePeerDifferByTheirQueuePairs) {
  Shown s = busy();
  s.endpoints.push_back({"load", {}, false, {}});
  s.rows[0].endpoint = s.rows[1].endpoint = "a-server-of-files";
  s.rows[0].peer = "192.168.100.200.1234567";
  s.rows[1].peer = "fd00:1234:5678:9abc:def0:1234:5678:9abc.1234568";
  s.rows[2].endpoint = "load";
  const std::string screen = text(draw(s, {}, {80, 24}, false));
  EXPECT_THAT(screen, HasSubstr("168.100.200.1234567 "));
  EXPECT_THAT(screen, HasSubstr("< ..34:5678:9abc.1234568 "));
  EXPECT_THAT(screen, HasSubstr("load < 10.0.0.2.291 "));
}

// A grant that falls to half of the request, and rises again.
TEST(Draw, WhatIsAskedForAndGrantedIsShownOverTime) {
  Shown s = busy(1);
  std::vector<Credits> history;
  for (std::uint32_t n = 0; n < 4; ++n) history.push_back({64, n == 1 ? 32U : 64U, 1, 0});
  s.rows[0].history.assign(history.begin(), history.end());
  s.rows[0].credits = history.back();
  View view;
  view.selected = 1;
  const std::string screen = text(draw(s, view, {80, 24}, true));
  // Returns the line that starts with this text.
  const auto line = [&](const std::string& name) {
    const std::size_t begin = screen.find('\n' + name) + 1;
    return screen.substr(begin, screen.find('\n', begin) - begin);
  };
  EXPECT_THAT(line("requested "), EndsWith(" ████"));
  EXPECT_THAT(line("  granted "), EndsWith(" █▄██"));
}

TEST(Draw, FillsEverySizeExactly) {
  View view;
  view.selected = 1;
  for (const Page page : {Page::kConnections, Page::kFindings, Page::kHelp}) {
    view.page = page;
    for (const std::size_t width : {1U, 7U, 40U, 79U, 80U, 81U, 120U, 300U}) {
      for (const std::size_t height : {1U, 5U, 13U, 14U, 23U, 24U, 25U, 40U, 100U}) {
        const Size size{width, height};
        Shown shown =
            busy(static_cast<std::uint32_t>(std::min<std::size_t>(table_rows(size, {}), 5)));
        expect_exact(draw(shown, view, size, true), size);
        expect_exact(draw(shown, view, size, false), size);
        expect_exact(draw({}, view, size, true), size);
        expect_exact(draw(followed(), view, size, true), size);
      }
    }
  }
}

TEST(Draw, LargestNumbersOverflowNothing) {
  Shown shown = busy();
  shown.events.emitted = shown.events.received = shown.events.lost = shown.events.missing =
      UINT64_MAX;
  shown.totals.calls = shown.totals.errors = shown.waiting = shown.faults = UINT64_MAX;
  shown.rates.calls = 1e300;
  shown.found.fill(UINT64_MAX);
  shown.findings[0].count = UINT64_MAX;
  shown.latency = {INT64_MAX, INT64_MAX};
  for (ShownConnection& c : shown.rows) {
    c.id = UINT32_MAX;
    c.credits = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    c.history.assign(kHistory, c.credits);
    c.totals.chunk_bytes.fill(UINT64_MAX);
    c.sent_again = c.naks = UINT64_MAX;
  }
  View view;
  view.selected = UINT32_MAX;
  expect_exact(draw(shown, view, {80, 24}, true), {80, 24});
  expect_exact(draw(shown, view, {200, 60}, true), {200, 60});
}

TEST(Draw, WhatPeersSentIsHarmless) {
  const std::string hostile =
      "a\033[2J\r\n\x9b\xff\xc3 \xe2\x80\xae \xe6\xbc\xa2\xe5\xad\x97" + std::string(300, 'x');
  Shown shown = busy();
  shown.endpoints[0] = {hostile, hostile, true, hostile};
  shown.rows[0].peer = shown.rows[0].local = shown.rows[0].endpoint = hostile;
  shown.findings[0].text = shown.findings[0].peer = shown.findings[0].rule = hostile;
  shown.findings[0].advice = hostile;
  View view;
  view.selected = 1;
  for (const Page page : {Page::kConnections, Page::kFindings}) {
    view.page = page;
    expect_exact(draw(shown, view, {80, 24}, true), {80, 24});
    expect_exact(draw(shown, view, {80, 24}, false), {80, 24});
  }
}

TEST(Draw, LossIsNeverHidden) {
  Shown shown = busy();
  shown.events = {};
  EXPECT_THAT(text(draw(shown, {}, {80, 24}, true)), HasSubstr("unknown  emitted 0"));
  shown.events.emitted = 100;
  shown.events.received = 90;
  shown.events.lost = 7;
  shown.events.missing = 3;
  for (const Page page : {Page::kConnections, Page::kFindings}) {
    View view;
    view.page = page;
    EXPECT_THAT(text(draw(shown, view, {80, 24}, true)),
                HasSubstr("INCOMPLETE  emitted 100 = received 90 + lost 7 + missing 3"));
  }
}

TEST(Draw, AnEndpointThatEndedIsSaidToHave) {
  Shown shown = busy();
  shown.endpoints[0].ended = true;
  shown.endpoints[0].role = std::string(100, 'r');
  EXPECT_THAT(text(draw(shown, {}, {80, 24}, true)), HasSubstr("nfsd has ended"));
}

TEST(Draw, WhenAndHowAnEndpointEnded) {
  Shown shown = busy();
  shown.endpoints[0].ended = true;
  shown.endpoints[0].ended_ns = kNoon;
  EXPECT_THAT(text(draw(shown, {}, {80, 24}, true)), HasSubstr("nfsd has ended 12:00:00  "));
  shown.endpoints[0].in_order = false;
  EXPECT_THAT(text(draw(shown, {}, {80, 24}, true)), HasSubstr("nfsd killed? 12:00:00  "));
}

TEST(Draw, WhoEndedHidesNoCounts) {
  Shown shown = busy();
  shown.endpoints[0].ended = true;
  shown.endpoints.push_back(
      {"load", {}, true, "its stream is damaged, and far too long for the line"});
  const std::string screen = text(draw(shown, {}, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr("nfsd has ended"));
  EXPECT_THAT(screen, HasSubstr(" open "));
  EXPECT_THAT(screen, HasSubstr(" UTC"));
}

TEST(Draw, AnEndpointThatRunsAgainHasNotEnded) {
  Shown shown = busy();
  shown.endpoints[0].ended = true;
  shown.endpoints.push_back({shown.endpoints[0].name, {}, false, {}});
  EXPECT_THAT(text(draw(shown, {}, {80, 24}, true)), Not(HasSubstr("ended")));
}

TEST(Draw, OfManyThatEndedTheirNumberIsSaid) {
  Shown s = busy();
  for (const char* name : {"load", "call", "ping"}) s.endpoints.push_back({name, {}, true, {}});
  const std::string screen = text(draw(s, {}, {120, 24}, true));
  EXPECT_THAT(screen, HasSubstr("3 endpoints have ended"));
  EXPECT_THAT(screen, HasSubstr("4 endpoints: nfsd, load"));
}

TEST(Draw, WithoutAnEndpointItSaysThatItWaits) {
  for (const Size size : {Size{80, 24}, Size{40, 10}}) {
    const std::vector<Line> lines = draw({}, {}, size, true);
    expect_exact(lines, size);
    EXPECT_THAT(text(lines), HasSubstr("no running endpoint"));
  }
  EXPECT_THAT(text(draw({}, {}, {80, 24}, true)), HasSubstr("waiting for an endpoint"));
}

TEST(Draw, FindingsHaveTheirAdvice) {
  View view;
  view.page = Page::kFindings;
  const std::string screen = text(draw(busy(), view, {80, 24}, true));
  EXPECT_THAT(screen, HasSubstr("By client 10.0.0.2"));
  EXPECT_THAT(screen, HasSubstr("obeys the grant of each Reply"));
}

TEST(Draw, PlainTextHasAllAndNoKeys) {
  const std::string all = text(draw_plain(busy(50), 80, true));
  EXPECT_THAT(all, HasSubstr("\n   50 "));
  EXPECT_THAT(all, HasSubstr("FC-01"));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("quit")));
}

TEST(Draw, ColoursAreLeftOutWhereTheyAreNotWanted) {
  const Line line{{Style::kBad, "bad"}, {Style::kPlain, " so"}, {Style::kGood, " good"}};
  EXPECT_EQ(ansi(line, true), "\033[1;31mbad\033[0m so\033[32m good\033[0m");
  EXPECT_EQ(ansi(line, false), "\033[1mbad\033[0m so good");
}

}  // namespace
}  // namespace rpcrdma::top
