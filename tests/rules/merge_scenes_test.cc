// Splits captures between two connections of the same peers: the merged reports of the parts must
// equal the report of the whole, whatever one connection leaves to the next.
#include "registry.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::scenes {
namespace {

using report::Report;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;

// `files`: the number of files that the report counts.
Report report_of_files(const Bytes& capture, std::uint64_t files = 1,
                       const std::string& expression = "") {
  report::AnalysisOptions options;
  if (!expression.empty()) {
    auto filter = filter::compile(expression);
    EXPECT_TRUE(filter) << expression;
    if (!filter) return {};
    options.filter = std::move(*filter);
    options.filter_text = expression;
  }
  const auto analysis = std::make_unique<report::Analysis>(std::move(options));
  const auto source = capture::open_memory(capture);
  EXPECT_TRUE(source);
  if (!source) return {};
  EXPECT_TRUE(analysis->pipeline().run(**source, nullptr, 1));
  analysis->pipeline().finish();
  analysis->finish((*source)->stats(), files);
  return analysis->report();
}

std::string json_of(const Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string text_of(const Report& r) {
  std::string text;
  report::write_text(r, {.all = true}, [&](std::string_view piece) { text += piece; });
  return text;
}

// Reads a report as from a file.
Report read(const std::string& json) {
  auto r = report::read_json(json);
  EXPECT_TRUE(r) << r.error();
  return r ? std::move(*r) : Report{};
}

Report merged(std::vector<Report> reports) {
  auto whole = report::merge(std::move(reports));
  EXPECT_TRUE(whole) << whole.error();
  return whole ? std::move(*whole) : Report{};
}

// Splits the capture; each of `cuts` is the number of frames before a cut.
std::vector<Bytes> parts(const Bytes& capture, const std::vector<std::uint64_t>& cuts) {
  const auto begin = [&](std::size_t at) {
    return capture.begin() + static_cast<std::ptrdiff_t>(at);
  };
  const Bytes header(capture.begin(), begin(kFileHeader));
  std::vector<Bytes> list{header};
  std::uint64_t frame = 0;
  for (std::size_t at = kFileHeader; at < capture.size(); ++frame) {
    if (std::find(cuts.begin(), cuts.end(), frame) != cuts.end()) list.push_back(header);
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, &capture[at + 8], 4);
    list.back().insert(list.back().end(), begin(at), begin(at + kRecordHeader + bytes));
    at += kRecordHeader + bytes;
  }
  return list;
}

// Returns the cuts before all connections but the first.
std::vector<std::uint64_t> first_calls(const Report& r) {
  std::vector<std::uint64_t> list;
  for (std::size_t i = 1; i < r.connections.size(); ++i) {
    list.push_back(r.connections[i].first_frame - 1);
  }
  return list;
}

std::vector<Report> reports_of(const Scene& scene, const std::vector<std::uint64_t>& cuts,
                               const std::string& expression = "") {
  std::vector<Report> list;
  for (const Bytes& part : parts(scene.pcap(), cuts)) {
    list.push_back(read(json_of(report_of_files(part, 1, expression))));
  }
  return list;
}

// Returns the findings that depend on two connections, with all their details.
std::vector<std::string> of_two(const Report& r) {
  std::vector<std::string> list;
  for (const report::Finding& f : r.findings) {
    if (f.rule != "RECONNECT" && f.rule != "ANSWERED-TWICE" && f.rule != "FC-08") continue;
    std::string line = f.rule + " " + rules::severity_name(f.severity) + " " + f.peer + " " +
                       f.role + " " + std::to_string(f.connection) + " " + f.text + " " + f.advice;
    for (const std::uint64_t frame : f.frames) line += " " + std::to_string(frame);
    list.push_back(line);
  }
  return list;
}

bool rests_on_two(const RuleScene& s) {
  // The grant of the previous connection decides only which rule is violated.
  return s.rule == "RECONNECT" || s.rule == "ANSWERED-TWICE" ||
         (s.rule == "FC-08" && s.variant != "credits");
}

TEST(MergeScenes, WhatRestsOnTwoConnectionsIsFound) {
  std::size_t compared = 0;
  for (const RuleScene& s : all_scenes()) {
    if (!rests_on_two(s)) continue;
    for (const bool breaks : {true, false}) {
      Scene scene;
      (breaks ? s.breaks : s.keeps)(scene);
      const Report whole = report_of_files(scene.pcap(), 2);
      for (const std::uint64_t cut : first_calls(whole)) {
        const Report joined = merged(reports_of(scene, {cut}));
        EXPECT_EQ(of_two(joined), of_two(whole)) << s.file() << breaks;
        const bool goes_on = std::any_of(joined.connections.begin(), joined.connections.end(),
                                         [](const report::Connection& c) { return c.joined != 0; });
        if (goes_on) continue;
        EXPECT_EQ(json_of(joined), json_of(whole)) << s.file() << breaks;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 13U);
}

// The first two of three connections leave unanswered Calls to the next one.
void three_connections(Scene& s) {
  Connection& first = s.connect();
  first.exchange(1);
  first.exchange(2);
  first.call(call(3));
  first.call(call(4));
  first.disconnect(kServer);
  s.wait(1'000'000);
  Connection& second = s.connect();
  second.exchange(3);
  second.exchange(2);
  second.exchange(40);
  second.call(call(5));
  second.call(call(6));
  second.disconnect(kServer);
  s.wait(1'000'000);
  Connection& third = s.connect();
  third.exchange(5);
  third.exchange(7);
  third.disconnect();
}

TEST(MergeScenes, HowReportsAreGroupedDoesNotMatter) {
  Scene scene;
  three_connections(scene);
  const Report whole = report_of_files(scene.pcap(), 3);
  const std::vector<Report> p = reports_of(scene, first_calls(whole));
  ASSERT_EQ(p.size(), 3U);
  const std::string all = json_of(whole);
  EXPECT_EQ(of_two(whole).size(), 4U) << all;
  const auto again = [](const Report& r) { return read(json_of(r)); };
  EXPECT_EQ(json_of(merged({p[0], p[1], p[2]})), all);
  EXPECT_EQ(json_of(merged({p[2], p[0], p[1]})), all);
  EXPECT_EQ(json_of(merged({again(merged({p[0], p[1]})), p[2]})), all);
  EXPECT_EQ(json_of(merged({p[0], again(merged({p[1], p[2]}))})), all);
}

TEST(MergeScenes, WhatLiesBetweenIsPassedOver) {
  Scene scene;
  Connection& beside = scene.connect();
  beside.exchange(900);
  Connection& first = scene.connect();
  first.exchange(1);
  first.call(call(2));
  first.call(call(3));
  first.disconnect(kServer);
  const std::size_t end = scene.packets();
  beside.exchange(901);
  const std::size_t begin = scene.packets();
  Connection& second = scene.connect();
  second.exchange(2);
  second.exchange(8);
  second.exchange(1);
  const std::vector<std::string> found = of_two(report_of_files(scene.pcap()));
  EXPECT_EQ(found.size(), 3U);
  const std::vector<Report> p = reports_of(scene, {end, begin});
  ASSERT_EQ(p.size(), 3U);
  EXPECT_EQ(of_two(merged({p[0], p[1], p[2]})), found);
  EXPECT_EQ(of_two(merged({merged({p[0], p[1]}), p[2]})), found);
  EXPECT_EQ(of_two(merged({p[0], merged({p[1], p[2]})})), found);
}

TEST(MergeScenes, AFilterLeavesOutWhatItWouldOfTheWhole) {
  for (const char* expression : {"rpcrdma.xid == 3", "rpcrdma.xid == 2"}) {
    Scene scene;
    for (const RuleScene& s : all_scenes()) {
      if (s.file() == "FC-08-xid") s.breaks(scene);
    }
    const Report whole = report_of_files(scene.pcap(), 2, expression);
    EXPECT_EQ(of_two(whole).size(), expression == std::string("rpcrdma.xid == 3") ? 1U : 0U);
    EXPECT_EQ(json_of(merged(reports_of(scene, first_calls(whole), expression))), json_of(whole));
  }
}

// A Call is lost, and is resent after `others` new Calls.
Scene late(std::uint32_t others) {
  Scene scene;
  Connection& first = scene.connect();
  first.exchange(1);
  first.call(call(2));
  first.disconnect(kServer);
  Connection& second = scene.connect();
  for (std::uint32_t i = 0; i < others; ++i) second.exchange(1000 + i);
  second.exchange(2);
  return scene;
}

TEST(MergeScenes, WhatTheBoundCutsOffIsSaid) {
  for (const bool too_late : {false, true}) {
    const auto kept = static_cast<std::uint32_t>(rules::kBegunCalls);
    const Scene scene = late(too_late ? kept : kept - 1);
    const Report whole = report_of_files(scene.pcap(), 2);
    EXPECT_FALSE(of_two(whole).empty());
    EXPECT_FALSE(whole.reconnects.unsought);
    const Report joined = merged(reports_of(scene, first_calls(whole)));
    EXPECT_EQ(joined.reconnects.unsought, too_late);
    if (too_late) {
      EXPECT_THAT(text_of(joined), HasSubstr("RECONNECT, ANSWERED-TWICE and FC-08 may be missing"));
    } else {
      EXPECT_EQ(json_of(joined), json_of(whole));
    }
  }
}

// An older report has no state to recognise resent Calls.
TEST(MergeScenes, AnOlderReportIsReadAndTheGapSaid) {
  Scene scene;
  three_connections(scene);
  const std::vector<Bytes> p = parts(scene.pcap(), first_calls(report_of_files(scene.pcap())));
  std::string old = json_of(report_of_files(p[0]));
  const std::size_t from = old.find("\"reconnects\":");
  const std::size_t to = old.find("\"findings\":", from);
  ASSERT_NE(to, std::string::npos);
  old.erase(from, to - from);
  const Report earlier = read(old);
  const Report later = read(json_of(report_of_files(p[1])));
  EXPECT_THAT(text_of(earlier), Not(HasSubstr("not searched")));
  const Report joined = merged({earlier, later});
  EXPECT_TRUE(joined.reconnects.unsought);
  EXPECT_THAT(of_two(joined), IsEmpty());
  const std::string text = text_of(joined);
  EXPECT_THAT(text, HasSubstr("not searched"));
  EXPECT_EQ(text.find("not searched"), text.rfind("not searched"));
}

// The connection continues in the next capture.
TEST(MergeScenes, AConnectionInTwoPartsIsSaidOnce) {
  Scene scene;
  Connection& c = scene.connect();
  c.exchange(1);
  const std::size_t cut = scene.packets();
  c.exchange(2);
  const Report joined = merged(reports_of(scene, {cut}));
  ASSERT_EQ(joined.connections.size(), 1U);
  EXPECT_EQ(joined.connections[0].joined, 1U);
  EXPECT_EQ(json_of(read(json_of(joined))), json_of(joined));
  EXPECT_THAT(json_of(joined),
              HasSubstr("\"joined\":{\"amount\":1,\"connections\":1,\"ids\":[1]}"));
  const std::string text = text_of(joined);
  EXPECT_THAT(text, HasSubstr("connection 1: from more than one report"));
  EXPECT_EQ(text.find("more than one report"), text.rfind("more than one report"));
  EXPECT_THAT(text_of(report_of_files(scene.pcap())), Not(HasSubstr("more than one report")));
  // The second part has no first Calls: the connection did not begin there.
  EXPECT_EQ(joined.reconnects.begun.size(), 1U);
}

}  // namespace
}  // namespace rpcrdma::scenes
