// Two captures or loads compared, and reports that overlap.
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A pcap file with all times counted `factor` times as fast from the first frame, `later` seconds
// later.
std::string stretched(const std::string& file, std::uint64_t factor, std::uint32_t later) {
  PcapEdit edit(file);
  std::uint64_t first = 0;
  for (std::string& record : edit.records) {
    std::uint32_t time[2];
    std::memcpy(time, record.data(), sizeof time);
    const std::uint64_t us = time[0] * std::uint64_t{1'000'000} + time[1];
    if (first == 0) first = us;
    const std::uint64_t to = first + (us - first) * factor;
    time[0] = static_cast<std::uint32_t>(to / 1'000'000) + later;
    time[1] = static_cast<std::uint32_t>(to % 1'000'000);
    std::memcpy(record.data(), time, sizeof time);
  }
  return edit.file();
}

class CompareCommand : public ::testing::Test {
 protected:
  CompareCommand() {
    write_file(before_, read_file(capture("linux-nfs3.pcap")));
    write_file(after_, stretched(read_file(before_), 3, 0));
  }

  TemporaryFolder folder_;
  std::string before_ = folder_.file("before.pcap");
  std::string after_ = folder_.file("after.pcap");
};

TEST_F(CompareCommand, FindsWhatIsSlower) {
  const Result r = run("RPCRDMA compare " + before_ + " " + after_ + " --fail-above p50=20%");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, StartsWith("Slower: NFSACL v3 GETACL (p50 +"));
  EXPECT_THAT(r.out, HasSubstr("NFS v3 READ "));
  EXPECT_THAT(r.out, HasSubstr("too few Calls to judge"));
  EXPECT_THAT(r.err, HasSubstr("rpcrdma: compare: NFSACL v3 GETACL: p50 rose by 199 % ("));
  EXPECT_THAT(r.err, HasSubstr("not judged: p50 of 13 procedures: too few Calls; 20 are needed\n"));
  EXPECT_EQ(run("RPCRDMA compare " + before_ + " " + after_).status, 0);
  EXPECT_EQ(run("RPCRDMA compare " + before_ + " " + after_ + " --fail-on slower").status, 1);
  EXPECT_EQ(run("RPCRDMA compare " + after_ + " " + before_ + " --fail-on slower").status, 0);
  EXPECT_EQ(
      run("RPCRDMA compare " + before_ + " " + after_ + " --fail-above GETACL:p50=500%").status, 0);
}

TEST_F(CompareCommand, FindsNothingInTheSame) {
  const Result r =
      run("RPCRDMA compare " + before_ + " " + before_ +
          " --fail-above p50=0%,p90=0%,failed=0% --fail-on slower,new-note --margin 0%");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("No procedure is slower or faster"));
  EXPECT_THAT(r.out, HasSubstr("Findings: none new, none gone"));
}

// Captures and reports, from files and standard input, give the same comparison.
TEST_F(CompareCommand, TakesReportsToo) {
  const std::string a = folder_.file("a.json");
  const std::string b = folder_.file("b.json");
  run("RPCRDMA analyze --json " + before_ + " > " + a);
  run("RPCRDMA analyze --json " + after_ + " > " + b);
  const auto compared = [&](const std::string& arguments) {
    json j = parse_json(run("RPCRDMA compare --json " + arguments).out);
    for (const char* key : {"before", "after"}) j[key].erase("name");
    return j;
  };
  const json of_captures = compared(before_ + " " + after_);
  EXPECT_EQ(of_captures["outcome"], "worse");
  EXPECT_EQ(compared(a + " " + b), of_captures);
  EXPECT_EQ(compared(before_ + " " + b), of_captures);
  EXPECT_EQ(compared(before_ + " - < " + b), of_captures);
}

TEST_F(CompareCommand, WritesAPage) {
  const std::string page = folder_.file("page.html");
  const Result r = run("RPCRDMA compare " + before_ + " " + after_ + " --html " + page);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(run("xmllint --nonet --noout " + page).status, 0);
  const std::string html = read_file(page);
  EXPECT_THAT(html, HasSubstr("<p class=\"verdict error\">Slower: NFSACL v3 GETACL"));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_EQ(run("RPCRDMA compare " + before_ + " " + after_ + " --html " + before_).status, 2);
}

TEST_F(CompareCommand, RefusesWhatItCannotCompare) {
  write_file(folder_.file("list.json"), "{\"calls\": 1}");
  write_file(folder_.file("text"), "hello");
  write_file(folder_.file("load.json"), "{\"server\":\"a\",\"latency_us\":{},\"parts_us\":{}}");
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const Result r = run("RPCRDMA compare " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  refused(before_ + " " + folder_.file("list.json"), "list.json: not a report of analyze --json");
  refused(before_ + " " + folder_.file("text"), "text");
  refused(folder_.file("missing") + " " + before_, "missing");
  refused(folder_.file("load.json") + " " + before_,
          "load.json: not the output of load --json: seconds or procedures: missing");
  refused("- -", "only one of the two can be standard input");
  refused(before_ + " " + before_ + " --fail-above p99=20", "\"20\" is not a share such as 20%");
  refused(before_ + " " + before_ + " --fail-above p98=2%", "\"p98=2%\" is not a limit");
  refused(before_ + " " + before_ + " --margin x", "\"x\" is not a share such as 10%");
}

// Two loads: the server of the second one sleeps.
TEST_F(CompareCommand, ComparesLoads) {
  ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  const std::string server = own_address(1);
  Background serve({"serve", "--listen", server});
  ASSERT_TRUE(serve.wait_for("listening")) << serve.out;
  const auto load = [&](const std::string& name, const std::string& options) {
    const Result r = run("RPCRDMA load " + server + " --from " + own_address(2) +
                         " --json --count 60 " + options + " > " + folder_.file(name));
    EXPECT_EQ(r.status, 0) << r.err;
    return folder_.file(name);
  };
  const std::string a = load("a.json", "--procedure sleep --sleep 1ms");
  const std::string b = load("b.json", "--procedure sleep --sleep 20ms");
  const Result r = run("RPCRDMA compare " + a + " " + b + " --fail-above sleep:p50=100%");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, StartsWith("Slower: ECHO v1 SLEEP (p50 +"));
  EXPECT_EQ(run("RPCRDMA compare " + a + " " + a + " --fail-on slower").status, 0);
  EXPECT_THAT(run("RPCRDMA compare " + before_ + " " + a).out, HasSubstr("AFTER is of load"));
  ::unsetenv("XDG_RUNTIME_DIR");
}

// A merge refuses reports that show the same traffic.
TEST_F(CompareCommand, MergeRefusesReportsThatOverlap) {
  const std::string a = folder_.file("a.json");
  run("RPCRDMA analyze --json " + before_ + " > " + a);
  for (const std::string& other : {before_, folder_.file("other.pcap")}) {
    // The other end's capture, with a clock that is a second ahead.
    if (other != before_) write_file(other, stretched(read_file(before_), 1, 1));
    const std::string b = folder_.file("b.json");
    run("RPCRDMA analyze --json " + other + " > " + b);
    const Result r = run("RPCRDMA merge " + a + " " + b);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, StartsWith("rpcrdma: " + a + " and " + b + " overlap: both show the "));
    EXPECT_THAT(r.err, HasSubstr("would count twice"));
  }
  // The same traffic a day later is another session.
  write_file(after_, stretched(read_file(before_), 1, 86400));
  run("RPCRDMA analyze --json " + after_ + " > " + folder_.file("b.json"));
  EXPECT_EQ(run("RPCRDMA merge " + a + " " + folder_.file("b.json")).status, 0);
}

}  // namespace
}  // namespace rpcrdma::e2e
