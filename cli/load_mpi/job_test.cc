// Jobs that end well, and jobs that cannot begin, by mpirun on hosts of their own.
#include "cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::load_mpi {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Job : public testing::Test {
 protected:
  void SetUp() override {
    if (!Cluster::permitted()) GTEST_SKIP() << "only root can make hosts";
  }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(Job, WrongArgumentsAreOneLine) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  struct Case {
    std::vector<std::string> arguments;
    std::string line;
  };
  const std::vector<Case> cases{
      {{"10.77.0.10", "--depth", "0"}, "--depth 0"},
      {{"10.77.0.10", "--nosuch"}, "--nosuch"},
      {{"10.77.0.10", "--pattern", "star"}, "star"},
      {{"10.77.0.10", "--network", "eth0"}, "--network: HOST is given"},
      {{"10.77.0.10", "--interval", "100ms"}, "whole seconds"},
      {{"10.77.0.10", "--stuck-after", "1s"}, "at least 3s"},
      {{"10.77.0.10", "--metrics", "127.0.0.1:0"}, "--metrics: ranks serve no metrics"},
      {{"--network", "ib7"}, "--network ib7"},
      {{"10.77.0.10", "--hlog", "/nosuch/file"}, "/nosuch/file"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.line);
    const e2e::Result r = cluster.run(c.arguments);
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr(c.line));
    EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(Job, ARankThatCannotConnectIsNamed) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  ASSERT_EQ(e2e::run("ip -n " + cluster.space(0) + " addr add 10.77.0.9/24 dev br0").status, 0);
  const auto server = cluster.serve(0, {"--listen", "10.77.0.9"});
  // The route of one host leads nowhere.
  ASSERT_EQ(e2e::run("ip -n " + cluster.space(3) + " route add blackhole 10.77.0.9/32").status, 0);
  const e2e::Result r = cluster.run({"10.77.0.9", "--duration", "1s", "--timeout", "2s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
  EXPECT_THAT(r.err, HasSubstr("rpcrdma-load-mpi: rank 2 (h3): "));
  EXPECT_EQ(r.out, "");
}

TEST_F(Job, WithoutAServerNoRankCanConnect) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  const e2e::Result r = cluster.run({"10.77.0.10", "--duration", "1s", "--timeout", "2s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
  EXPECT_THAT(r.err, HasSubstr("10.77.0.10 port 20049"));
}

// The raw latencies of all ranks, sorted.
std::vector<std::int64_t> raw_latencies(const Cluster& cluster, int ranks) {
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < ranks; ++rank) {
    std::ifstream file(cluster.file(fmt::format("raw.{}", rank)));
    for (std::int64_t ns = 0; file >> ns;) all.push_back(ns);
  }
  std::ranges::sort(all);
  return all;
}

TEST_F(Job, TheMergedHistogramIsThatOfAllRawLatencies) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  const auto server = cluster.serve(0);
  const e2e::Result r = cluster.run({"10.77.0.10", "--duration", "2s", "--depth", "4",
                                     "--procedure", "echo", "--json", "--raw", cluster.file("raw"),
                                     "--json-stream", cluster.file("stream")});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json report = e2e::parse_json(r.out);
  const std::vector<std::int64_t> raw = raw_latencies(cluster, 4);
  ASSERT_GT(raw.size(), 100U);
  EXPECT_EQ(report["calls"], raw.size());
  base::Histogram histogram;
  for (const std::int64_t ns : raw) histogram.add(ns);
  Json buckets = Json::array();
  histogram.for_each_bucket([&](base::Histogram::Bucket b) {
    buckets.push_back({b.index, b.count});
  });
  const Json& merged = report["procedures"][0]["histogram_ns"];
  EXPECT_EQ(merged["buckets"], buckets);
  EXPECT_EQ(merged["min"], raw.front());
  EXPECT_EQ(merged["max"], raw.back());
  EXPECT_EQ(merged["sum"], std::accumulate(raw.begin(), raw.end(), std::int64_t{0}));
  // The series of the whole has each Call once.
  std::ifstream stream(cluster.file("stream"));
  std::uint64_t calls = 0;
  for (std::string line; std::getline(stream, line);) {
    calls += e2e::parse_json(line)["calls"].get<std::uint64_t>();
  }
  EXPECT_EQ(calls, raw.size());
  // Each rank has its row.
  std::uint64_t of_ranks = 0;
  std::set<std::string> hosts;
  for (const Json& rank : report["ranks"]) {
    of_ranks += rank["calls"].get<std::uint64_t>();
    hosts.insert(rank["host"].get<std::string>());
    EXPECT_EQ(rank["state"], "done");
  }
  EXPECT_EQ(of_ranks, raw.size());
  EXPECT_THAT(hosts, ElementsAre("h1", "h2", "h3", "h4"));
}

// The clocks of the hosts differ by 1000 seconds each: ranks start together only if the offsets are
// right. A busy machine may run a thread late, so one of several jobs must meet the bound.
TEST_F(Job, RanksStartWithinFiveMilliseconds) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  const auto server = cluster.serve(0);
  double least = 1e9;
  for (int attempt = 0; attempt < 8 && least >= 5000; ++attempt) {
    const e2e::Result r =
        cluster.run({"10.77.0.10", "--duration", "1s", "--rate", "100", "--json"});
    ASSERT_EQ(r.status, 0) << r.err;
    const Json report = e2e::parse_json(r.out);
    double first = 1e18;
    double last = -1e18;
    for (const Json& rank : report["ranks"]) {
      const double offset = 1e9 * rank["rank"].get<double>();  // microseconds, of its clock
      const double wrong = rank["clock_offset_us"].get<double>() - offset;
      EXPECT_LE(std::abs(wrong), rank["clock_error_us"].get<double>() + 1);
      const double begun = wrong + rank["start_skew_us"].get<double>();
      first = std::min(first, begun);
      last = std::max(last, begun);
    }
    // What the report promises is not less than what was.
    EXPECT_GE(report["start_skew_us"].get<double>() + 1, last - first);
    least = std::min(least, report["start_skew_us"].get<double>());
  }
  EXPECT_LT(least, 5000) << "microseconds";
}

std::set<std::pair<int, std::string>> pairs_of(const Json& report) {
  std::set<std::pair<int, std::string>> pairs;
  for (const Json& rank : report["ranks"]) {
    for (const Json& server : rank["servers"]) {
      pairs.emplace(rank["rank"].get<int>(), server.get<std::string>());
    }
  }
  return pairs;
}

TEST_F(Job, PatternsAmongTheRanksThemselves) {
  const Cluster cluster(3);
  ASSERT_TRUE(cluster.ok());
  const auto at = [](int rank) { return Cluster::address(rank + 1) + " port 20049"; };
  std::set<std::pair<int, std::string>> all;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) all.emplace(from, at(to));
    }
  }
  struct Case {
    const char* pattern;
    std::set<std::pair<int, std::string>> pairs;
    std::size_t rounds;
  };
  for (const Case& c :
       {Case{"n-to-1", {{1, at(0)}, {2, at(0)}}, 1}, Case{"1-to-n", {{0, at(1)}, {0, at(2)}}, 1},
        Case{"pairwise", all, 2}, Case{"all-to-all", all, 1}}) {
    SCOPED_TRACE(c.pattern);
    const e2e::Result r =
        cluster.run({"--pattern", c.pattern, "--count", "50", "--json", "--serve", "--credits 8"});
    ASSERT_EQ(r.status, 0) << r.err;
    const Json report = e2e::parse_json(r.out);
    EXPECT_EQ(pairs_of(report), c.pairs);
    EXPECT_EQ(report["rounds"].size(), c.rounds);
    EXPECT_EQ(report["pattern"], c.pattern);
    EXPECT_EQ(report["errors"], 0);
  }
}

TEST_F(Job, SeveralServersAreCalledInTurn) {
  const Cluster cluster(2);
  ASSERT_TRUE(cluster.ok());
  const auto first = cluster.serve(0);
  const auto second = cluster.serve(0, {"--port", "20050"});
  const e2e::Result r = cluster.run(
      {"10.77.0.10,10.77.0.10:20050", "--pattern", "pairwise", "--count", "20", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json report = e2e::parse_json(r.out);
  EXPECT_EQ(pairs_of(report).size(), 4U);
  EXPECT_EQ(report["calls"], 80);
}

TEST_F(Job, ThresholdsAreThoseOfTheWholeAndOfEachRank) {
  const Cluster cluster(2);
  ASSERT_TRUE(cluster.ok());
  const auto server = cluster.serve(0);
  std::vector<std::string> arguments{"10.77.0.10", "--procedure", "sleep",        "--sleep", "30ms",
                                     "--count",    "10",          "--fail-above", "p50=20ms"};
  const e2e::Result over = cluster.run(arguments);
  EXPECT_EQ(over.status, 1);
  EXPECT_THAT(over.err, HasSubstr("rpcrdma-load-mpi: all ranks: "));
  EXPECT_THAT(over.err, HasSubstr("rpcrdma-load-mpi: rank 0 (h1): "));
  EXPECT_THAT(over.err, HasSubstr("rpcrdma-load-mpi: rank 1 (h2): "));
  arguments.back() = "p50=20s";
  const e2e::Result below = cluster.run(arguments);
  EXPECT_EQ(below.status, 0) << below.err;
}

}  // namespace
}  // namespace rpcrdma::load_mpi
