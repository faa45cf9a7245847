// rpcrdma analyze-many, killed at any moment, at once with itself, and on a full disk.
#include "batch/many_captures.h"
#include "support/background.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

class Interrupted : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(captures_); }

  std::size_t done() const {
    std::size_t units = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(out_ + "/units", error)) {
      units += entry.path().extension() == ".json" ? 1U : 0U;
    }
    return units;
  }

  TemporaryFolder folder_;
  std::string captures_ = folder_.file("captures");
  std::string out_ = folder_.file("out");
};

// The moments of the kills are random, and what they leave must be right at each.
TEST_F(Interrupted, KilledAtAnyMomentItContinues) {
  const auto names = write_captures(captures_, 40);
  const std::string whole = run("RPCRDMA analyze --json" + joined_names(names)).out;
  std::mt19937 random(7);  // NOLINT: the same moments each time
  std::size_t before = 0;
  std::map<std::string, std::filesystem::file_time_type> written;
  for (int kill = 0; kill < 12; ++kill) {
    {
      const Background batch(
          {"analyze-many", captures_, "--out", out_, "--slice", "1", "--jobs", "2"});
      // Until it has done more, and a random time on top, so that progress does not depend on time.
      for (int tries = 0; tries < 3000 && done() < std::min<std::size_t>(before + 1, 40); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }  // SIGKILL
    EXPECT_GE(done(), before);
    before = done();
    for (const auto& [name, time] : written) {
      EXPECT_EQ(std::filesystem::last_write_time(name), time) << name << " was written twice";
    }
    for (const auto& entry : std::filesystem::directory_iterator(out_ + "/units")) {
      if (entry.path().extension() != ".json") continue;
      written.emplace(entry.path().string(), entry.last_write_time());
      EXPECT_FALSE(try_parse_json(read_file(entry.path().string())).is_discarded());
    }
  }
  const Result last = run("RPCRDMA analyze-many " + captures_ + " --slice 1 --json --out " + out_);
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(last.out, whole);
}

// A process of a share dies with its unit; others take the unit over.
TEST_F(Interrupted, AKilledShareIsTakenOver) {
  const auto names = write_captures(captures_, 12);
  ASSERT_EQ(run("RPCRDMA analyze-many " + captures_ + " --slice 1 --plan --out " + out_).status, 0);
  {
    const Background share({"analyze-many", "--out", out_, "--shard", "1/2"});
    for (int tries = 0; tries < 3000 && done() == 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  const Result other = run("RPCRDMA analyze-many --shard 2/2 --out " + out_);
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(done(), 12U);
  EXPECT_EQ(run("RPCRDMA analyze-many --json --out " + out_).out,
            run("RPCRDMA analyze --json" + joined_names(names)).out);
}

TEST_F(Interrupted, TwoAtOnceDoNotDisturbEachOther) {
  const auto names = write_captures(captures_, 40);
  const std::string line =
      "RPCRDMA analyze-many " + captures_ + " --slice 1 --jobs 2 --json --out " + out_;
  const Result both = run(line + " > " + folder_.file("1") + " 2> " + folder_.file("1.err") +
                          " & one=$!; " + line + " > " + folder_.file("2") + " 2> " +
                          folder_.file("2.err") + "; a=$?; wait $one; echo $? $a");
  const std::string whole = run("RPCRDMA analyze --json" + joined_names(names)).out;
  // One of them was first; the other was refused, unless it came when all was over.
  const std::string first = read_file(folder_.file("1"));
  const std::string second = read_file(folder_.file("2"));
  EXPECT_TRUE(first == whole || second == whole) << both.out;
  for (const char* name : {"1", "2"}) {
    if (read_file(folder_.file(name)) == whole) continue;
    EXPECT_EQ(read_file(folder_.file(name)), "");
    EXPECT_THAT(read_file(folder_.file(std::string(name) + ".err")),
                HasSubstr("another analyze-many works on it"));
  }
}

TEST_F(Interrupted, SharesAtOnceDoNotDoAUnitTwice) {
  const auto names = write_captures(captures_, 40);
  ASSERT_EQ(run("RPCRDMA analyze-many " + captures_ + " --slice 1 --plan --out " + out_).status, 0);
  const Result r =
      run("for i in 1 2 3; do RPCRDMA analyze-many --out " + out_ + " --shard 1/1 & done; wait");
  std::size_t analyzed = 0;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) {
    analyzed += std::stoul(line.substr(line.find(": ") + 2));
  }
  EXPECT_EQ(analyzed, 40U) << r.out << r.err;
  EXPECT_EQ(run("RPCRDMA analyze-many --json --out " + out_).out,
            run("RPCRDMA analyze --json" + joined_names(names)).out);
}

// A unit that ends its process, as one that needs too much memory does, is not tried for ever.
TEST_F(Interrupted, AUnitThatKillsItsProcessIsNamed) {
  const auto names = write_captures(captures_, 3);
  ASSERT_EQ(run("RPCRDMA analyze-many " + captures_ + " --slice 1 --plan --out " + out_).status, 0);
  write_file(out_ + "/units/0002.claim", "++");
  const Result share = run("RPCRDMA analyze-many --shard 1/1 --out " + out_);
  EXPECT_EQ(share.status, 2);
  EXPECT_THAT(share.out, HasSubstr("2 units analyzed, 0 done before, 1 failed"));
  EXPECT_THAT(read_file(out_ + "/units/0002.failed"), HasSubstr("lack of memory"));
  // A new run tries again.
  EXPECT_EQ(run("RPCRDMA analyze-many --out " + out_).status, 0);
}

// A file system of its own that is too small.
TEST_F(Interrupted, AFullDiskIsOneLineAndTheRunContinuesLater) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a file system";
  const auto names = write_captures(captures_, 30);
  std::filesystem::create_directory(out_);
  write_file(folder_.file("script"),
             "mount -t tmpfs -o size=600k none " + out_ + " || exit 77\n" + RPCRDMA_COMMAND +
                 " analyze-many " + captures_ + " --slice 1 --jobs 2 --out " + out_ +
                 " > out1 2> err1; echo $?\n"
                 "mount -o remount,size=100m " +
                 out_ + "\n" + RPCRDMA_COMMAND + " analyze-many " + captures_ +
                 " --slice 1 --json --out " + out_ + " > out2 2> err2; echo $?\ncp " + out_ +
                 "/summary.json .\n");
  const Result r = run("cd " + folder_.path() + "; unshare -m bash script");
  if (r.status == 77) GTEST_SKIP() << "cannot mount a file system";
  EXPECT_EQ(r.out, "2\n0\n") << r.err;
  const std::string err = read_file(folder_.file("err1"));
  EXPECT_THAT(err, HasSubstr("No space left on device"));
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_EQ(read_file(folder_.file("out1")), "");
  EXPECT_EQ(read_file(folder_.file("out2")),
            run("RPCRDMA analyze --json" + joined_names(names)).out)
      << read_file(folder_.file("err2"));
  const json summary = parse_json(read_file(folder_.file("summary.json")));
  EXPECT_GT(summary["done_before"], 0);
  EXPECT_EQ(summary["analyzed"].get<int>() + summary["done_before"].get<int>(), 30);
}

}  // namespace
}  // namespace rpcrdma::e2e
