// The verdict as `analyze` prints it: first and last, in JSON, and as the exit status.
#include "support/command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string last_line(const std::string& text) {
  const std::string whole = text.substr(0, text.size() - 1);
  return whole.substr(whole.rfind('\n') + 1);
}

TEST(VerdictOutput, IsTheLastLineOnATerminalToo) {
  const std::string file = capture("linux-nfs3.pcap");
  const Result piped = run("RPCRDMA analyze --no-plots " + file);
  EXPECT_THAT(piped.out, StartsWith("Healthy: 165 Calls, all answered. NFSACL v3 GETACL p50 "));
  EXPECT_NE(last_line(piped.out), first_line(piped.out));
  const Result shown =
      run("TERM=dumb COLUMNS=200 script -qec '" RPCRDMA_COMMAND " analyze --no-plots " + file +
          "' /dev/null");
  EXPECT_THAT(last_line(shown.out), StartsWith(first_line(piped.out)));
}

TEST(VerdictOutput, KnownBehaviourOfLinuxComesBehindTheNumbers) {
  const std::string out = run("RPCRDMA analyze --no-plots " + capture("linux-nfs3.pcap")).out;
  EXPECT_LT(out.find("Slowest Calls"), out.find("LINUX-NO-READS"));
  EXPECT_LT(out.find("INV-01"), out.find("Slowest Calls"));
}

TEST(VerdictOutput, IsInJson) {
  const Result r = run("RPCRDMA analyze --json " + capture("rules/STALL.pcap"));
  const auto verdict = nlohmann::json::parse(r.out)["verdict"];
  EXPECT_EQ(verdict["kind"], "warnings");
  EXPECT_EQ(verdict["side"]["role"], "server");
  EXPECT_EQ(verdict["side"]["address"], "192.0.2.2");
  EXPECT_EQ(verdict["evidence"][0]["rule"], "STALL");
  EXPECT_EQ(verdict["numbers"]["longest_silence_ns"].get<std::int64_t>() / 1'000'000, 1500);
  const std::string text = run("RPCRDMA analyze " + capture("rules/STALL.pcap")).out;
  EXPECT_EQ(verdict["text"], first_line(text));
}

TEST(VerdictOutput, IsOnTheHtmlPage) {
  const TemporaryFolder folder;
  const std::string page = folder.file("page.html");
  run("RPCRDMA analyze --html " + page + " " + capture("rules/STALL.pcap"));
  EXPECT_THAT(read_file(page), HasSubstr("<p class=\"verdict warning\">No errors; 1 warning by the "
                                         "server 192.0.2.2 (STALL). 14 Calls, all answered. "));
}

TEST(FailOn, NamesTheSeverityForExitStatus1) {
  const auto status = [](const std::string& arguments) {
    return run("RPCRDMA analyze " + arguments).status;
  };
  const std::string warning = capture("rules/STALL.pcap"), note = capture("linux-nfs3.pcap"),
                    error = capture("rules/HDR-02.pcap"), none = capture("cases/ok-5-getattr.pcap");
  EXPECT_EQ(status(error), 1);
  EXPECT_EQ(status("--fail-on error " + error), 1);
  EXPECT_EQ(status(warning), 0);
  EXPECT_EQ(status("--fail-on error " + warning), 0);
  EXPECT_EQ(status("--fail-on warning " + warning), 1);
  EXPECT_EQ(status("--fail-on warning " + note), 0);
  EXPECT_EQ(status("--fail-on note " + note), 1);
  EXPECT_EQ(status("--fail-on warning --json " + warning), 1);
  EXPECT_EQ(status("--fail-on warning " + none), 0);
  const TemporaryFolder folder;
  run("RPCRDMA analyze --json " + warning + " > " + folder.file("report.json"));
  EXPECT_EQ(run("RPCRDMA merge " + folder.file("report.json")).status, 0);
  EXPECT_EQ(run("RPCRDMA merge --fail-on warning " + folder.file("report.json")).status, 1);
  EXPECT_EQ(status("--fail-on alarm " + note), 2);
}

TEST(Slow, CallsAboveTheLimitAreFindings) {
  const std::string file = capture("linux-nfs3.pcap");
  const Result r = run("RPCRDMA analyze --fail-on warning --slow READ=5ms --slow 1s " + file);
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out,
              HasSubstr("warning SLOW-CALL, connection 1: 5 of 10 READ above 5 ms, the worst "
                        "16.9 ms in frame 897 "));
  EXPECT_THAT(first_line(r.out),
              HasSubstr("; none of 165 Calls above 1.000 s; 5 of 10 READ above"));
  // An operation of NFSv4 has the same name.
  const Result v4 = run("RPCRDMA analyze --slow read=1us " + capture("linux-nfs41.pcap"));
  EXPECT_THAT(first_line(v4.out), HasSubstr(" READ above 1 us"));
}

TEST(Slow, WrongLimitsAreRefused) {
  const auto error = [](const std::string& limit) {
    const Result r = run("RPCRDMA analyze --slow " + limit + " " + capture("linux-nfs3.pcap"));
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_THAT(error("READ=5"), HasSubstr("\"5\" is not a duration such as 20ms"));
  EXPECT_THAT(error("READ=0ms"), HasSubstr("\"0ms\" is not a duration"));
  EXPECT_THAT(error("READD=5ms"), HasSubstr("\"READD\" is no procedure or operation with a known"));
  EXPECT_THAT(error("=5ms"), HasSubstr("\"\" is no procedure"));
}

}  // namespace
}  // namespace rpcrdma::e2e
