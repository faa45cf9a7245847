// Tests that each command of ./dev builds what it needs and runs to its end.
#include "lint_scripts.h"
#include "stand_ins.h"

#include <regex>
#include <set>

#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Lines = std::vector<std::string>;

struct Command {
  std::string arguments;
  Lines starts;  // calls that build, and later ones
};

std::string build(const std::string& preset, const std::string& targets) {
  return fmt::format("cmake --build --preset {} -j 2 --target {}", preset, targets);
}

const std::string kProgramsAlone =
    "cmake --preset release -DRPCRDMA_TESTS=OFF -DRPCRDMA_INSTALL_LIBRARY=OFF";
const std::string kQuick =
    "cmake --preset quick -DRPCRDMA_TESTS=ON -DRPCRDMA_TESTS_BY_PROGRAM=ON -DRPCRDMA_GUI=ON "
    "-DRPCRDMA_WIRESHARK=ON -DRPCRDMA_EXTCAP=ON -DRPCRDMA_WERROR=ON";

Lines bench(const Lines& programs) {
  Lines lines{kProgramsAlone + " -DRPCRDMA_BENCH=ON -DRPCRDMA_WIRESHARK=ON",
              build("release", "all")};
  lines.insert(lines.end(), programs.begin(), programs.end());
  return lines;
}

const Lines kBenchWire{"bench_wire --benchmark_min_time=0.5",
                       "bench_roce --benchmark_min_time=0.5"};
const Lines kBenchAnalyze{"bench_analyze build/release/bin/rpcrdma tests/captures build/bench"};
const Lines kBenchFabric{"bench_udp_floor ", "bench_fabric "};
const Lines kBenchEngine{"bench_engine "};
const Lines kBenchGrowth{"bench_growth build/release/bin/rpcrdma build/bench"};
const Lines kBenchTrace{"bench_trace "};
const Lines kBenchCapture{"bench_capture build/release/bin/rpcrdma tests/captures SCRATCH"};
const Lines kBenchWireshark{
    "bench_wireshark build/release/wireshark/epan/rpcrdma_scope.so 4.0 tests/captures"};
const Lines kBenchGui{"bench_gui build/release/bin/rpcrdma tests/captures build/bench"};
const Lines kBenchKernel{
    "python3 tests/bench/trace_dat.py build/release/bin tests/captures build/bench/trace_dat"};
const Lines kBenchFleet{"bench_fleet "};

constexpr const char* kTsanTargets =
    "rpcrdma e2e_test capture_test soft_io_test service_loopback_test service_metrics_test "
    "trace_test live_test index_test playground_test";
const std::string kFuzz =
    "-timeout=10 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix=build/fuzz/crash-fuzz_it- "
    "build/fuzz/found/fuzz_it tests/fuzz/corpus/it";

Lines bench_compare() {
  const std::string configure = kProgramsAlone + " -DRPCRDMA_BENCH=ON -DRPCRDMA_WIRESHARK=ON";
  return {configure,
          build("release", "all"),
          "git rev-parse --verify --quiet HEAD~2^{commit}",
          "git clone --quiet --shared --no-checkout . build/bench/ref",
          "git -C build/bench/ref checkout --quiet --detach ",
          configure,
          build("release", "all"),
          "python3 -B tests/bench/compare.py build/bench/ref/build/release build/release "
          "tests/captures build/bench wire analyze=3"};
}

const std::regex kScratch("/dev/shm/rpcrdma-bench-\\w+");

const std::vector<Command> kCommands{
    {"build", {kProgramsAlone, build("release", "all")}},
    {"wireshark",
     {kProgramsAlone + " -DRPCRDMA_WIRESHARK=ON", build("release", "rpcrdma_scope rpcrdma-extcap"),
      "cmake --install build/release --component wireshark"}},
    {"gui some.pcap",
     {kProgramsAlone + " -DRPCRDMA_GUI=ON", build("release", "gui"), "rpcrdma-gui some.pcap"}},
    {"fleet",
     {"cmake --preset quick -DRPCRDMA_TESTS=OFF -DRPCRDMA_GUI=OFF -DRPCRDMA_WIRESHARK=OFF "
      "-DRPCRDMA_EXTCAP=OFF -DRPCRDMA_INSTALL_LIBRARY=OFF",
      build("quick", "rpcrdma"), "quick-start build/quick/bin/rpcrdma"}},
    {"fleet gui",
     {kProgramsAlone + " -DRPCRDMA_GUI=ON", build("release", "rpcrdma gui"),
      "quick-start build/release/bin/rpcrdma build/release/bin/rpcrdma-gui"}},
    {"screenshots",
     {"cmake --preset release -DRPCRDMA_GUI=ON -DRPCRDMA_TESTS=ON",
      build("release", "gui_screenshots"),
      "xvfb-run -a -s -screen 0 1600x1200x24 build/release/bin/gui_screenshots tests/captures "
      "docs/gui"}},
    {"test quick", {kQuick, build("quick", "all"), "ctest --preset quick -j 3 --verbose"}},
    {"test quick one_test two_test",
     {kQuick, build("quick", "one_test two_test"),
      "ctest --preset quick -R ^(one_test|two_test)[.][0-9]+$ --no-tests=error -j 3 --verbose"}},
    {"bench wire", bench(kBenchWire)},
    {"bench analyze", bench(kBenchAnalyze)},
    {"bench fabric", bench(kBenchFabric)},
    {"bench engine", bench(kBenchEngine)},
    {"bench growth", bench(kBenchGrowth)},
    {"bench trace", bench(kBenchTrace)},
    {"bench capture", bench(kBenchCapture)},
    {"bench wireshark", bench(kBenchWireshark)},
    {"bench gui", bench(kBenchGui)},
    {"bench kernel", bench(kBenchKernel)},
    {"bench fleet", bench(kBenchFleet)},
    {"bench compare HEAD~2 wire analyze=3", bench_compare()},
    {"fuzz 60",
     {"cmake --preset asan -DRPCRDMA_TESTS=OFF", build("asan", "fuzzers"),
      "fuzz_it -max_total_time=60 " + kFuzz}},
    {"soak 500 7",
     {"cmake --preset release -DRPCRDMA_TESTS=ON", build("release", "service_soak_test"),
      "service_soak_test "}},
    {"lab one two",
     {"cmake --preset release -DRPCRDMA_TESTS=ON",
      build("release", "rpcrdma rpcrdma-kernel rpcrdma-trace-dat raw_peer"), "lab run one two"}},
    {"lab shell ls",
     {"cmake --preset release -DRPCRDMA_TESTS=ON",
      build("release", "rpcrdma rpcrdma-kernel rpcrdma-trace-dat raw_peer"), "lab shell ls"}},
    {"lint",
     {"cmake --preset debug -DRPCRDMA_WERROR=ON", "clang-format --dry-run --Werror some.cc",
      "words ", "shellcheck " + lint_scripts(), "clang-tidy -p build/debug --quiet some.cc"}},
    {"format", {"clang-format -i some.cc"}},
    {"mutants engine/wire 40 2", {"python3 -B tests/mutants engine/wire 40 2"}},
    {"release 1.2.3", {"release 1.2.3"}},
    {"help", {}},
};

TEST_F(DevScript, EachCommandRunsToItsEnd) {
  for (const Command& command : kCommands) {
    std::filesystem::remove(folder() + "/log");
    const e2e::Result r = run(command.arguments);
    EXPECT_EQ(r.status, 0) << command.arguments << '\n' << r.err;
    Lines lines = started();
    for (std::string& line : lines) line = std::regex_replace(line, kScratch, "SCRATCH");
    EXPECT_THAT(lines, ElementsAreArray(command.starts)) << command.arguments;
  }
}

TEST_F(DevScript, CapturingIsForRoot) {
  const e2e::Result alone = run("bench capture", "USER_ID=1000");
  EXPECT_EQ(alone.status, 1);
  EXPECT_THAT(alone.err, HasSubstr("dev: bench capture must run as root"));
  const e2e::Result all = run("bench", "USER_ID=1000");
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.err, HasSubstr("bench capture is left out: not root"));
}

TEST_F(DevScript, FleetIsForRoot) {
  const e2e::Result r = run("fleet", "USER_ID=1000");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("dev: fleet must run as root"));
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(run("fleet frobnicate").status, 1);
}

// The lab runs in parallel with the second build, so their order varies.
TEST_F(DevScript, TestRunsAllTestsAndAddsThemUp) {
  const e2e::Result r = run("test");
  EXPECT_EQ(r.status, 0) << r.err;
  const Lines all = started();
  Lines lines;
  for (const std::string& line : all) {
    if (line != "lab run" && !line.starts_with("ctest --preset tsan")) lines.push_back(line);
  }
  EXPECT_THAT(lines,
              ElementsAre("cmake --preset release -DRPCRDMA_TESTS=ON -DRPCRDMA_TESTS_BY_PROGRAM=ON "
                          "-DRPCRDMA_WERROR=ON",
                          build("release", "system_tests"),
                          "ctest --preset release -L system -j 3 --verbose",
                          "cmake --preset asan -DRPCRDMA_TESTS=ON -DRPCRDMA_WERROR=ON",
                          build("asan", "all"), "ctest --preset asan -j 3 --verbose",
                          "fuzz_it -max_total_time=8 " + kFuzz,
                          "cmake --preset tsan -DRPCRDMA_WERROR=ON", build("tsan", kTsanTargets)));
  EXPECT_THAT(all, Contains("lab run"));
  EXPECT_THAT(all.back(), StartsWith("ctest --preset tsan -R "));
  EXPECT_THAT(r.out, HasSubstr("\n5 passed, 0 failed, 0 skipped\n"));
}

TEST_F(DevScript, TestFullFuzzesForAMinute) {
  EXPECT_EQ(run("test full").status, 0);
  EXPECT_THAT(started(), Contains(StartsWith("fuzz_it -max_total_time=60 ")));
  const e2e::Result r = run("test fll");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("dev: test: quick or full, not fll"));
}

TEST_F(DevScript, TestShowsWhereTheTimeWent) {
  const e2e::Result r = run("test");
  EXPECT_THAT(r.err, HasSubstr("== time used: elapsed, processor time, step\n"));
  for (const char* step :
       {"build (release)", "system tests (release)", "build (asan) and lab", "tests (asan)",
        "fuzzers", "build (tsan)", "thread tests (tsan)", "all"}) {
    EXPECT_THAT(r.out,
                testing::ContainsRegex(
                    "\n *[0-9]+ s +[0-9]+ s  " +
                    std::regex_replace(std::string(step), std::regex("[()]"), "\\$&") + "\n"));
  }
}

TEST_F(DevScript, BenchAllRunsEachBenchmarkWhereverItIsCalledFrom) {
  const e2e::Result r = run("bench", "", "tests", "../dev");
  EXPECT_EQ(r.status, 0) << r.err;
  Lines benchmarks, expected;
  for (const std::string& line : started()) {
    if (line.starts_with("bench_") || line.starts_with("python3 tests/bench/"))
      benchmarks.push_back(std::regex_replace(line, kScratch, "SCRATCH"));
  }
  for (const Lines& lines :
       {kBenchWire, kBenchAnalyze, kBenchFabric, kBenchEngine, kBenchGrowth, kBenchTrace,
        kBenchCapture, kBenchWireshark, kBenchGui, kBenchKernel, kBenchFleet}) {
    expected.insert(expected.end(), lines.begin(), lines.end());
  }
  EXPECT_EQ(benchmarks, expected);
}

// A command added to the script must be added here.
TEST_F(DevScript, EachCommandOfTheHelpIsTried) {
  std::set<std::string> tried{"demo", "portability"};  // see demo_test.cc, portability_test.cc
  for (const Command& command : kCommands) {
    tried.insert(command.arguments.substr(0, command.arguments.find(' ')));
  }
  std::istringstream help(run("help").out);
  int listed = 0;
  for (std::string line; std::getline(help, line);) {
    if (line.size() < 3 || line.substr(0, 2) != "  " || line[2] == ' ') continue;
    ++listed;
    EXPECT_THAT(tried, Contains(line.substr(2, line.find_first_of(" ", 2) - 2))) << line;
  }
  EXPECT_GE(listed, 12);
}

TEST_F(DevScript, WithoutRootThePluginIsInstalledForTheUser) {
  const e2e::Result r = run("wireshark", "USER_ID=1000");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(
      e2e::read_file(folder() + "/home/.local/lib/wireshark/plugins/4.0/epan/rpcrdma_scope.so"),
      "plugin");
  EXPECT_THAT(started(), Not(Contains(HasSubstr("--install"))));
  EXPECT_THAT(r.err, HasSubstr("WIRESHARK_EXTCAP_DIR=" + folder() + "/build/release/extcap"));
}

TEST_F(DevScript, TheCaptureProgramIsInstalledWhereWiresharkLooksForAUsersOwn) {
  const e2e::Result r = run("wireshark", "USER_ID=1000 EXTCAP=" + folder() + "/home/own/extcap");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(e2e::read_file(folder() + "/home/own/extcap/rpcrdma-extcap"), "extcap");
  EXPECT_THAT(r.err, Not(HasSubstr("WIRESHARK_EXTCAP_DIR")));
}

TEST_F(DevScript, ABuildThatFailsEndsIt) {
  const e2e::Result configured = run("wireshark", "'FAILS=cmake --preset'");
  EXPECT_EQ(configured.status, 1);
  EXPECT_THAT(configured.err, AllOf(HasSubstr("the stand-in fails"),
                                    HasSubstr("dev: cmake --preset release failed")));
  const e2e::Result built = run("wireshark", "'FAILS=cmake --build'");
  EXPECT_EQ(built.status, 1);
  EXPECT_THAT(built.err,
              AllOf(HasSubstr("the stand-in fails"), HasSubstr("dev: the build failed (release)")));
  EXPECT_THAT(started(), Not(Contains(HasSubstr("--install"))));
}

TEST_F(DevScript, ATestThatFailsFailsIt) {
  const e2e::Result r = run("test quick", "BAD_TESTS=1");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("\nquick: A.Case (0 ms)\n"
                               "quick: a_test.0 (Failed)\n"
                               "0 passed, 1 failed, 0 skipped\n"));
}

// A long run repeats at its end what failed in the middle.
TEST_F(DevScript, TestEndsWithWhatFailed) {
  const e2e::Result lab = run("test", "BAD_LAB=1");
  EXPECT_EQ(lab.status, 1);
  EXPECT_THAT(lab.out, HasSubstr("\nlab: bad            failed    2 s\n"
                                 "lab:   the reason\n"
                                 "lab: console of a guest\n"
                                 "6 passed, 1 failed, 0 skipped\n"));
  const e2e::Result fuzzer = run("test", "'FAILS=fuzz_it'");
  EXPECT_EQ(fuzzer.status, 1);
  EXPECT_THAT(fuzzer.out, HasSubstr("\nfuzzers: fuzz_it\n4 passed, 1 failed, 0 skipped\n"));
}

TEST_F(DevScript, ABuildSaysHowLongItTakes) {
  EXPECT_THAT(run("build").err, HasSubstr("== 7 steps, about "));
}

TEST_F(DevScript, WhatIsNoCommandIsRefused) {
  EXPECT_EQ(run("frobnicate").status, 2);
  const e2e::Result r = run("bench frobnicate");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("no benchmark named frobnicate"));
}

}  // namespace
}  // namespace rpcrdma::dev
