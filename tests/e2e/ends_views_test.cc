// Both ends of Calls as the commands present them: traces of two kernels and the packets between.
#include "support/command.h"
#include "support/timeline_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// 78 Calls on the wire and at the client, 73 of them at the server.
std::string all_points() {
  return capture("kernel/k61-client.dat") + " " + capture("kernel/k61-server.dat.gz") + " " +
         capture("kernel/k61-wire.pcap.gz");
}

std::string point_names(const json& message) {
  std::string names;
  for (const json& p : message["points"]) names += p["point"].get<std::string>() + " ";
  return names;
}

TEST(EndsViews, DecodeListsEachMessageOnce) {
  const Result r = run("RPCRDMA decode --both --json " + all_points());
  ASSERT_EQ(r.status, 0) << r.err;
  std::vector<json> lines = json_lines(r.out);
  ASSERT_GT(lines.size(), 1U);
  EXPECT_EQ(lines[0]["sources"].size(), 3U);
  lines.erase(lines.begin());
  EXPECT_EQ(lines.size(), 156U);
  std::map<std::string, int> seen_by;
  std::set<std::string> once;
  std::size_t stages = 0;
  for (const json& m : lines) {
    ++seen_by[point_names(m)];
    EXPECT_TRUE(
        once.insert(m["kind"].get<std::string>() + std::to_string(m["xid"].get<int64_t>())).second)
        << m;
    // Packets show most of a message.
    EXPECT_FALSE(m.contains("unknown")) << m;
    stages += m["call"].is_null() ? 0 : 1;
  }
  EXPECT_EQ(seen_by["client wire server "], 146) << json(seen_by);
  EXPECT_EQ(seen_by["client wire "], 10) << json(seen_by);
  EXPECT_GE(stages, 73U);
}

// No message arrives before it was sent, as far as the clocks are known.
TEST(EndsViews, TimesAreInTheOrderOfThePath) {
  const Result r = run("RPCRDMA decode --both --json " + all_points());
  std::map<std::string, std::int64_t> error;
  for (const json& m : json_lines(r.out)) {
    if (m.contains("sources")) {
      for (const json& s : m["sources"]) {
        error[s["file"]] = s["reference"] == true ? 0 : s["error_at_most_ns"].get<std::int64_t>();
      }
      continue;
    }
    std::vector<json> path = m["points"];
    if (m["kind"] == "reply") std::reverse(path.begin(), path.end());
    for (std::size_t i = 1; i < path.size(); ++i) {
      ASSERT_TRUE(path[i]["aligned_ns"].is_number() && path[i - 1]["aligned_ns"].is_number()) << m;
      EXPECT_GE(path[i]["aligned_ns"].get<std::int64_t>() + error.at(path[i]["file"]) +
                    error.at(path[i - 1]["file"]),
                path[i - 1]["aligned_ns"].get<std::int64_t>())
          << m;
    }
  }
  EXPECT_EQ(error.size(), 3U);
}

TEST(EndsViews, DecodePrintsTimesAndStages) {
  const Result r = run("RPCRDMA decode --both -c 2 " + all_points());
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("k61-client.dat: the reference"));
  EXPECT_THAT(r.out, HasSubstr("10.77.0.1.17: call 0x"));
  EXPECT_THAT(r.out, HasSubstr(" | network, to the client "));
}

TEST(EndsViews, OptionsWithoutAUseAreRefused) {
  for (const char* option : {"-v", "--events", "-Y nfs", "--type call", "--last 5s"}) {
    const Result r = run("RPCRDMA decode --both " + std::string(option) + " " + all_points());
    EXPECT_EQ(r.status, 2) << option;
    EXPECT_THAT(r.err, HasSubstr("--both: of the options")) << option;
    EXPECT_EQ(r.out, "") << option;
  }
}

TEST(EndsViews, PerfettoShowsThePointsWithFlows) {
  const Result r = run("RPCRDMA export --format perfetto " + all_points());
  ASSERT_EQ(r.status, 0) << r.err;
  const timeline::testing::Trace trace = timeline::testing::read_trace(r.out);
  EXPECT_EQ(trace.calls.size(), 78U);
  std::map<std::string, int> points;
  for (const json& p : trace.points) {
    const std::string& name = trace.processes.at(p["pid"]);
    ++points[name.substr(name.find(", ") + 2)];
  }
  EXPECT_GE(points["client 10.77.0.2"], 73) << json(points);
  EXPECT_GE(points["server 10.77.0.1"], 73) << json(points);
  EXPECT_GE(trace.flows.size(), 2 * 73U);
  EXPECT_FALSE(trace.stages.empty());
  // One file shows no other end; a filter selects from the followed view.
  for (const std::string& other : {capture("kernel/k61-wire.pcap.gz"), "-Y nfs " + all_points()}) {
    const Result single = run("RPCRDMA export --format perfetto " + other);
    EXPECT_TRUE(timeline::testing::read_trace(single.out).points.empty());
  }
}

// Both views of the same moment lie at the same time of the timeline.
TEST(EndsViews, PerfettoHasOneClock) {
  const Result r = run("RPCRDMA export --format perfetto " + all_points());
  const timeline::testing::Trace trace = timeline::testing::read_trace(r.out);
  std::map<std::string, std::int64_t> calls;
  for (const json& c : trace.calls) {
    calls[c["args"]["xid"]] = timeline::testing::nanoseconds(c["ts"]);
  }
  constexpr std::int64_t kNear = 2'000'000'000;
  std::size_t compared = 0;
  for (const json& p : trace.points) {
    const auto it = calls.find(p["args"]["xid"]);
    if (it == calls.end()) continue;
    ++compared;
    EXPECT_LT(std::abs(timeline::testing::nanoseconds(p["ts"]) - it->second), kNear) << p;
  }
  EXPECT_GE(compared, 73U);
}

}  // namespace
}  // namespace rpcrdma::e2e
