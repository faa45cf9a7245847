// CE marks, CNPs and pause frames in a report and its outputs.
#include "captures_for_tests.h"
#include "support/congested.h"

#include <fstream>
#include <sstream>

#include <rpcrdma/report/report_text.h>

namespace rpcrdma::report {
namespace {

// Every packet of the client is marked.
struct Congested {
  std::uint64_t marked = 0, cnps = 0;
  Report report;

  explicit Congested(bool pauses) {
    std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES) + "/linux-nfs3.pcap", std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    const auto made = rpcrdma::testing::congested_capture(
        bytes.str(), [](std::size_t) { return true; }, pauses ? 1 : 0);
    marked = made.marked;
    cnps = made.cnps;
    const std::string path = ::testing::TempDir() + "congested.pcap";
    std::ofstream(path, std::ios::binary) << made.file;
    Analysis analysis;
    const auto source = capture::open_file(path);
    EXPECT_TRUE(source);
    EXPECT_TRUE(analysis.pipeline().run(**source, {}, 1));
    analysis.pipeline().finish();
    analysis.finish((*source)->stats());
    report = analysis.report();
  }
};

std::string text_of(const Report& r) {
  std::string text;
  write_text(r, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::size_t findings_of(const Report& r, const std::string& words) {
  return static_cast<std::size_t>(
      std::count_if(r.findings.begin(), r.findings.end(), [&](const Finding& f) {
        return f.rule == std::string("CONGESTION") && f.text.find(words) != std::string::npos;
      }));
}

TEST(CongestionReport, CountsByConnectionDirectionAndTime) {
  const Congested c(true);
  const Report& r = c.report;
  ASSERT_GT(c.marked, 0U);
  ASSERT_GT(c.cnps, 0U);
  EXPECT_EQ(r.capture.packets.ce, c.marked);
  EXPECT_EQ(r.capture.packets.cnp, c.cnps);
  std::array<std::uint64_t, 2> ce{}, cnps{};
  for (const Connection& connection : r.connections) {
    for (std::size_t s = 0; s < 2; ++s) {
      ce[s] += connection.side[s].counters.ce;
      cnps[s] += connection.side[s].counters.cnps;
    }
  }
  EXPECT_EQ(ce, (std::array<std::uint64_t, 2>{c.marked, 0}));
  EXPECT_EQ(cnps, (std::array<std::uint64_t, 2>{0, c.cnps}));
  TrafficBin sum;
  for (std::int64_t n = r.traffic.first(); n <= r.traffic.last(); ++n) sum.join(r.traffic.bin(n));
  EXPECT_EQ(sum.ce, c.marked);
  EXPECT_EQ(sum.cnps, c.cnps);
  EXPECT_EQ(sum.pauses, 1U);
  EXPECT_EQ(r.capture.pauses.at("02:00:00:00:00:07").paused[3], 1U);
  EXPECT_GE(findings_of(r, "marked CE"), 1U);
  EXPECT_EQ(findings_of(r, "pause frames: 1 of class 3"), 1U);
}

TEST(CongestionReport, IsInEveryOutput) {
  const Congested c(true);
  const std::string text = text_of(c.report);
  EXPECT_NE(text.find("marked CE"), std::string::npos);
  EXPECT_NE(text.find("CNP"), std::string::npos);
  EXPECT_NE(text.find("pause frames: 1 of class 3 by 02:00:00:00:00:07"), std::string::npos);
  const std::string json = testing::json_of(c.report);
  EXPECT_NE(json.find("\"ce\":"), std::string::npos);
  EXPECT_NE(json.find("\"pause_frames\":[{\"source\":\"02:00:00:00:00:07\",\"paused\":[[3,1]]"),
            std::string::npos);
  const auto again = read_json(json);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(testing::json_of(*again), json);
}

TEST(CongestionReport, NothingWithoutSignals) {
  const Report r = testing::report_of("linux-nfs3.pcap");
  EXPECT_EQ(r.capture.packets.ce + r.capture.packets.cnp, 0U);
  EXPECT_EQ(findings_of(r, ""), 0U);
  EXPECT_EQ(testing::json_of(r).find("pause_frames"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report
