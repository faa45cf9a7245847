// Tests merges of many reports: as a tree, one report in memory at a time.
#include "captures_for_tests.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using testing::json_of;

// Analyzes a capture in consecutive parts of about `frames` frames.
std::vector<Report> parts_of(const std::string& name, std::size_t frames) {
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  std::vector<Report> parts;
  if (!source) return parts;
  std::unique_ptr<Analysis> analysis;
  std::size_t in_part = 0;
  const auto end_part = [&] {
    if (analysis == nullptr) return;
    analysis->pipeline().finish();
    analysis->finish({}, 1);
    parts.push_back(analysis->report());
    analysis.reset();
  };
  capture::Frame frame;
  while ((*source)->next(frame).value_or(false)) {
    if (analysis == nullptr) {
      analysis = std::make_unique<Analysis>(AnalysisOptions{});
      in_part = 0;
    }
    frame.number = ++in_part;
    analysis->pipeline().frame(frame);
    if (in_part == frames) end_part();
  }
  end_part();
  return parts;
}

std::string merged_json(std::vector<Report> reports) {
  const auto whole = merge(std::move(reports));
  EXPECT_TRUE(whole) << whole.error();
  return whole ? json_of(*whole) : std::string();
}

TEST(MergeMany, NeighboursFirstEqualsOneAfterTheOther) {
  for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap"}) {
    for (const std::size_t frames : {std::size_t{40}, std::size_t{97}, std::size_t{150}}) {
      SCOPED_TRACE(name);
      std::vector<Report> parts = parts_of(name, frames);
      ASSERT_GT(parts.size(), 2U);
      Report one_after_the_other = parts.front();
      for (std::size_t i = 1; i < parts.size(); ++i) {
        auto sum = merge({std::move(one_after_the_other), parts[i]});
        ASSERT_TRUE(sum) << sum.error();
        one_after_the_other = std::move(*sum);
      }
      EXPECT_EQ(merged_json(parts), json_of(one_after_the_other));
    }
  }
}

// Many connections that start and do not end: the sums of later reports must list them all, or
// their Calls would count as not compared.
TEST(MergeMany, ConnectionsThatStartedAreComparedInEachGrouping) {
  std::vector<Report> reports;
  for (std::uint32_t n = 0; n < 40; ++n) {
    Report& r = reports.emplace_back();
    r.capture.files = 1;
    r.capture.frames = 10;
    r.capture.first_ns = 1'700'000'000'000'000'000 + n * 1'000'000'000LL;
    r.capture.last_ns = r.capture.first_ns + 500'000'000;
    r.connection_ids = 4;
    for (std::uint32_t i = 1; i <= 4; ++i) {
      Connection& c = r.connections.emplace_back();
      c.id = i;
      c.speaks = model::Speaks::kRpc;
      c.side[0].address = "10.0.0." + std::to_string(i);
      c.side[1].address = "10.0.1.1";
      c.side[0].qpn = 4 * n + i;
      c.side[1].qpn = 1000 + 4 * n + i;
      c.first_ns = r.capture.first_ns;
      c.last_ns = r.capture.last_ns;
      c.first_frame = i;
      c.last_frame = 5 + i;
      BegunConnection& b = r.reconnects.begun.emplace_back();
      b.connection = i;
      b.address = {c.side[0].address, c.side[1].address};
      b.first_ns = c.first_ns;
      b.calls.emplace_back();
      b.calls.back().xid = 100 * n + i;
      b.calls.back().frame = i;
      b.calls.back().time_ns = c.first_ns;
    }
  }
  Report one_after_the_other = reports.front();
  for (std::size_t i = 1; i < reports.size(); ++i) {
    auto sum = merge({std::move(one_after_the_other), reports[i]});
    ASSERT_TRUE(sum) << sum.error();
    one_after_the_other = std::move(*sum);
  }
  EXPECT_FALSE(one_after_the_other.reconnects.unsought);
  EXPECT_FALSE(one_after_the_other.reconnects.complete);
  EXPECT_EQ(one_after_the_other.reconnects.begun.size(), rules::kBegun);
  EXPECT_EQ(merged_json(reports), json_of(one_after_the_other));
}

TEST(MergeMany, ReportsAreReadOneAtATimeInAnyOrder) {
  const std::vector<Report> parts = parts_of("linux-nfs41.pcap", 60);
  const std::string whole = merged_json(parts);
  std::vector<Report> shuffled = parts;
  std::mt19937 random(1);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<int> reads(shuffled.size());
  const auto merged = merge(shuffled.size(), [&](std::size_t i) {
    ++reads[i];
    return tl::expected<Report, std::string>(shuffled[i]);
  });
  ASSERT_TRUE(merged) << merged.error();
  EXPECT_EQ(json_of(*merged), whole);
  EXPECT_THAT(reads, ::testing::Each(2));
}

TEST(MergeMany, AnErrorOfTheReaderIsReturned) {
  const std::vector<Report> parts = parts_of("linux-deleg.pcap", 50);
  for (const std::size_t bad : {std::size_t{0}, std::size_t{1}}) {
    const auto merged = merge(2, [&](std::size_t i) -> tl::expected<Report, std::string> {
      if (i == bad) return tl::unexpected(std::string("b.json: damaged"));
      return parts[i];
    });
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error(), "b.json: damaged");
  }
}

TEST(MergeMany, AFileThatChangesIsNotMerged) {
  const std::vector<Report> parts = parts_of("linux-deleg.pcap", 50);
  ASSERT_GT(parts.size(), 2U);
  std::size_t reads = 0;
  const auto merged = merge(2,
                            [&](std::size_t i) -> tl::expected<Report, std::string> {
                              return parts[++reads > 2 && i == 1 ? 2 : i];
                            },
                            {"a.json", "b.json"});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error(), "b.json: the file changed while it was read");
}

TEST(MergeMany, TwoOfManyOverlap) {
  std::vector<Report> parts = parts_of("linux-nfs41.pcap", 60);
  parts.push_back(parts[3]);
  const auto merged = merge(parts);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error(), HasSubstr(" overlap: both show the connection "));
  EXPECT_THAT(merged.error(), HasSubstr("report 4 and report "));
}

}  // namespace
}  // namespace rpcrdma::report
