// Tests that comparing two builds names what became faster and slower, from what their benchmarks
// print. Scripts stand for the benchmarks.
#include "support/command.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Compare : public ::testing::Test {
 protected:
  // `script`: what a benchmark of this build does; it counts its runs in $n.
  void program(const std::string& build, const std::string& name, const std::string& script) const {
    namespace fs = std::filesystem;
    const std::string bin = folder_.file(build + "/bin");
    fs::create_directories(bin);
    const std::string path = bin + "/" + name;
    e2e::write_file(path,
                    "#!/bin/sh\nn=$(cat \"$0.n\" 2>/dev/null || echo 0)\nn=$((n + 1))\n"
                    "echo $n >\"$0.n\"\n" +
                        script);
    fs::permissions(path, fs::perms::owner_all);
  }
  [[nodiscard]] e2e::Result run(const std::string& names) const {
    return e2e::run(fmt::format("python3 -B " RPCRDMA_SOURCE_DIR "/tests/bench/compare.py {0}/ref "
                                "{0}/head captures {0}/scratch {1}",
                                folder_.path(), names));
  }

 private:
  e2e::TemporaryFolder folder_;
};

TEST_F(Compare, NamesWhatBecameFasterAndSlower) {
  program("ref", "bench_engine",
          "echo \"62 in flight on each of 16 connections: ${n}00 Calls/s, 4.${n}1 us a Call\"\n"
          "echo \"62 in flight on each of 1000 connections: ${n}00 Calls/s, 4.${n}1 us a Call\"\n"
          "echo \"floor p50 7.${n}1 us  p99 9.0 us\"\n"
          "echo \"ours / floor: 1.${n}0 times\"\n"
          "echo \"more than the floor +0.${n} %  (-0.1 to +${n}.5), 7.${n}2 ms\"\n");
  program("head", "bench_engine",
          "echo \"62 in flight on each of 16 connections: ${n}50 Calls/s, 4.${n}1 us a Call\"\n"
          "echo \"62 in flight on each of 1000 connections: ${n}00 Calls/s, 9.${n}1 us a Call\"\n"
          "echo \"floor p50 7.${n}1 us  p99 9.0 us\"\n"
          "echo \"ours / floor: 1.${n}5 times\"\n"
          "echo \"more than the floor +1.${n} %  (-0.4 to +${n}.7), 7.${n}2 ms\"\n"
          "echo \"a new figure 12 us\"\n");
  const e2e::Result r = run("engine=5");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("engine: 5 pairs in "));
  EXPECT_THAT(r.out, ContainsRegex("each of 16 connections +300 +350 Calls/s +1\\.17 .* faster\n"));
  EXPECT_THAT(r.out, ContainsRegex("each of 1000 connections +300 +300 Calls/s +1\\.00 "
                                   "\\(1\\.00 to 1\\.00\\)\n"));
  EXPECT_THAT(r.out, ContainsRegex("1000 connections +4\\.31 +9\\.31 us .* SLOWER\n"));
  EXPECT_THAT(r.out, ContainsRegex("floor p50 +7\\.31 +7\\.31 us +1\\.00 "));
  EXPECT_THAT(r.out, Not(HasSubstr("p99")));    // constant
  EXPECT_THAT(r.out, Not(HasSubstr("times")));  // computed from the others
  EXPECT_THAT(r.out, Not(HasSubstr("to +")));   // differences of others
  EXPECT_THAT(r.out,
              ContainsRegex("more than the floor # % \\(# to #\\) +7\\.32 +7\\.32 ms +1\\.00 "));
  EXPECT_THAT(r.out, ContainsRegex("a new figure +only of HEAD\n"));
  EXPECT_THAT(r.out, HasSubstr("\n1 figures are slower or larger\n"));
}

TEST_F(Compare, OnePairThatDisagreesIsNoVerdict) {
  program("ref", "bench_engine", "echo \"NULL Call p50 2${n} us\"\n");
  program("head", "bench_engine",
          "[ $n = 3 ] && echo \"NULL Call p50 11 us\" || echo \"NULL Call p50 4${n} us\"\n");
  const e2e::Result r = run("engine=5");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("NULL Call p50 .* us +0\\.5[0-9] \\(.* to 2\\.09\\)\n"));
  EXPECT_THAT(r.out, HasSubstr("\n0 figures are slower or larger\n"));
}

TEST_F(Compare, ABenchmarkThatFailsIsNamed) {
  program("ref", "bench_engine", "echo no device >&2\nexit 3\n");
  program("head", "bench_engine", "echo no device >&2\nexit 3\n");
  const e2e::Result r = run("engine");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("bench_engine: status 3: no device\n"));
}

TEST_F(Compare, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(run("frobnicate").err, HasSubstr("compare: no benchmark named frobnicate: wire, "));
  EXPECT_THAT(run("engine=0").err,
              HasSubstr("compare: engine=0: the number of pairs is 1 to 1000"));
}

}  // namespace
}  // namespace rpcrdma::dev
