// Which file a message is about: lines, trees, JSON, filters and the table of `analyze`.
#include "support/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NfsFiles, LinesNameTheFileAndTheRange) {
  const Result three = run("RPCRDMA decode " + capture("linux-nfs3.pcap"));
  EXPECT_THAT(three.out, HasSubstr("| NFS v3 READ big 65536+32768\n"));
  EXPECT_THAT(three.out, HasSubstr("| NFS v3 READ big 65536+32768 | ok | answers "));
  EXPECT_THAT(three.out, HasSubstr("| NFS v3 READ odd 0+5003 | ok")) << "as read";
  EXPECT_THAT(three.out, HasSubstr("| NFS v3 WRITE w3odd 0+10002\n"));
  const Result four = run("RPCRDMA decode " + capture("linux-nfs41.pcap"));
  EXPECT_THAT(four.out, HasSubstr("COMPOUND SEQUENCE PUTFH READ /big 65536+65536\n"));
  EXPECT_THAT(four.out, HasSubstr("COMPOUND SEQUENCE PUTFH OPEN GETFH ACCESS GETATTR /wodd\n"));
}

TEST(NfsFiles, AFilterFindsCallsAndRepliesOfEveryVersion) {
  for (const auto& [file, messages] :
       {std::pair{"linux-nfs3.pcap", 16}, std::pair{"linux-nfs41.pcap", 8}}) {
    for (const char* filter :
         {"nfs.name == \"big\"", "nfs.path matches \"big$\"",
          "nfs.name == \"big\" && nfs.fh && nfs.offset >= 0 && nfs.count > 0"}) {
      const Result r =
          run("RPCRDMA decode --json " + capture(file) + " -Y 'nfs.op == READ && " + filter + "'");
      EXPECT_EQ(json_lines(r.out).size(), static_cast<std::size_t>(messages)) << filter;
    }
  }
}

TEST(NfsFiles, JsonHasTheFile) {
  const Result r = run("RPCRDMA decode --json " + capture("linux-nfs41.pcap") +
                       " -Y 'nfs.op == READ && nfs.name == \"odd\"'");
  const auto lines = json_lines(r.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["nfs"]["name"], "/odd");
  EXPECT_EQ(lines[0]["nfs"]["offset"], 0);
  EXPECT_EQ(lines[0]["nfs"]["count"], 8192);
  EXPECT_EQ(lines[1]["nfs"]["count"], 5003) << "as read";
  EXPECT_EQ(lines[0]["nfs"]["fh"], lines[1]["nfs"]["fh"]);
  EXPECT_EQ(lines[0]["nfs"]["stateid"].get<std::string>().size(), 32U);
}

TEST(NfsFiles, TheTreeHasThePath) {
  const Result r =
      run("RPCRDMA decode -v " + capture("linux-nfs41.pcap") + " -Y 'nfs.name == \"big\"'");
  EXPECT_THAT(r.out, HasSubstr("[File: /big]"));
}

TEST(NfsFiles, AnalyzeListsAsManyAsAskedFor) {
  const std::string analyze = "RPCRDMA analyze --no-plots " + capture("linux-nfs3.pcap");
  const auto table = [&](const std::string& options) {
    const std::string out = run(analyze + options).out;
    const auto at = out.find("\nFile ");
    return at == std::string::npos ? std::string() : out.substr(at);
  };
  EXPECT_THAT(table(""), HasSubstr("more files (--files all lists them)"));
  EXPECT_THAT(table(" --files 1"), Not(HasSubstr("\nodd ")));
  EXPECT_THAT(table(" --files all"), HasSubstr("\nodd "));
  EXPECT_THAT(table(" --files all"), Not(HasSubstr("more files")));
  for (const char* wrong : {"x", "-1", "1k"}) {
    const Result refused = run(analyze + " --files " + wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.err, HasSubstr("--files")) << wrong;
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
