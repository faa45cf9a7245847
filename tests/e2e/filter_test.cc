// --filter of the commands, on real captures.
#include "support/command.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

std::string decode(const std::string& file, const std::string& filter,
                   const std::string& more = "") {
  return "RPCRDMA decode " + capture(file) + " -Y '" + filter + "' " + more;
}

std::vector<nlohmann::json> messages(const std::string& file, const std::string& filter = "") {
  const Result r = run(filter.empty() ? "RPCRDMA decode --json " + capture(file)
                                      : decode(file, filter, "--json"));
  EXPECT_EQ(r.status, 0) << r.err;
  return json_lines(r.out);
}

std::vector<int> frames(const std::vector<nlohmann::json>& list) {
  std::vector<int> out;
  for (const auto& m : list) out.push_back(m["frame"]);
  return out;
}

// A filter selects exactly the messages for which `wanted` is true, in the same order.
template <typename Wanted>
void expect_selects(const std::string& file, const std::string& filter, Wanted wanted) {
  std::vector<nlohmann::json> expected;
  for (const auto& m : messages(file)) {
    if (wanted(m)) expected.push_back(m);
  }
  EXPECT_FALSE(expected.empty()) << filter;
  const auto selected = messages(file, filter);
  EXPECT_EQ(frames(selected), frames(expected)) << filter;
  EXPECT_TRUE(selected == expected) << filter;
}

bool has_operation(const nlohmann::json& m, const char* name) {
  const auto& rpc = m["rpc"];
  if (!rpc.is_object() || !rpc.contains("nfs_operations")) return false;
  const auto& ops = rpc["nfs_operations"];
  return std::find(ops.begin(), ops.end(), name) != ops.end();
}

// Matches by protocol, as in Wireshark: any version, with NULL and failed Calls.
TEST(Filter, NfsIsEveryMessageOfNfs) {
  const auto of_nfs = [](const nlohmann::json& m) {
    const auto& rpc = m["rpc"];
    if (!rpc.is_object() || !rpc.contains("program_name")) return false;
    return rpc["program_name"] == "NFS" || rpc["program_name"] == "NFS_CB";
  };
  for (const char* file : {"linux-nfs3.pcap", "linux-nfs41.pcap", "linux-deleg.pcap"}) {
    expect_selects(file, "nfs", of_nfs);
    EXPECT_EQ(messages(file, "!nfs").size() + messages(file, "nfs").size(), messages(file).size());
  }
  expect_selects("linux-nfs3.pcap", "nfs.op_name == \"READ\"", [](const nlohmann::json& m) {
    return m["rpc"].is_object() && m["rpc"].value("procedure_name", "") == "READ";
  });
  expect_selects("linux-nfs41.pcap", "nfs.op_name == \"READ\"",
                 [](const nlohmann::json& m) { return has_operation(m, "READ"); });
}

TEST(Filter, SelectsWhatTheJsonSays) {
  const char* file = "linux-nfs41.pcap";
  expect_selects(file, "rpcrdma.kind == call", [](const auto& m) { return m["kind"] == "call"; });
  expect_selects(file, "nfs.op == READ", [](const auto& m) { return has_operation(m, "READ"); });
  expect_selects(file, "rpcrdma.latency > 10ms", [](const auto& m) {
    return m["latency_us"].is_number() && m["latency_us"] > 10000;
  });
  expect_selects(file, "rpcrdma.proc == RDMA_NOMSG || rpcrdma.read", [](const auto& m) {
    return m["proc"] == "RDMA_NOMSG" || !m["read_list"].empty();
  });
  expect_selects(file, "frame.number in {60..70, 187}", [](const auto& m) {
    return (m["frame"] >= 60 && m["frame"] <= 70) || m["frame"] == 187;
  });
  expect_selects(file, "rpcrdma.src == 10.77.0.2 && rpcrdma.op.bytes > 4096", [](const auto& m) {
    return m["source"]["address"] == "10.77.0.2" &&
           std::any_of(m["operations"].begin(), m["operations"].end(),
                       [](const auto& o) { return o["bytes"] > 4096; });
  });
  expect_selects(file, "rpcrdma.match.frame == 64 or rpcrdma.match.frame == 67",
                 [](const auto& m) { return m["match"] == 64 || m["match"] == 67; });
  expect_selects("linux-deleg.pcap", "rpcrdma.reverse",
                 [](const auto& m) { return m["direction"] == "reverse"; });
  expect_selects("linux-nfs3.pcap", "rpc.procedure == WRITE", [](const auto& m) {
    return m["rpc"].is_object() && m["rpc"].value("procedure_name", "") == "WRITE";
  });
}

// Text lines are printed before the whole Call is known; the selection must be the same.
TEST(Filter, TextAndJsonSelectTheSame) {
  for (const char* filter : {"rpcrdma.latency > 5ms", "rpc.program == NFS && rpcrdma.kind == call",
                             "rpcrdma.moved > 4096", "rpc.auth_sys.uid == 0", "nfs.op == WRITE"}) {
    const Result text = run(decode("linux-nfs41.pcap", filter));
    const auto lines = std::count(text.out.begin(), text.out.end(), '\n');
    EXPECT_GT(lines, 0) << filter;
    EXPECT_EQ(static_cast<std::size_t>(lines), messages("linux-nfs41.pcap", filter).size())
        << filter;
  }
}

// The bytes are kept and decoded only for the filter.
TEST(Filter, SeesWhatStandsInTheBytesAlone) {
  const auto calls = messages("linux-nfs41.pcap", "rpc.auth_sys.uid == 0");
  ASSERT_FALSE(calls.empty());
  for (const auto& m : calls) EXPECT_EQ(m["rpc"]["cred_flavor"], "AUTH_SYS");
  EXPECT_TRUE(messages("linux-nfs41.pcap", "rpc.auth_sys.uid == 4711").empty());
}

TEST(Filter, WorksBesideTheOtherOptions) {
  const Result r = run(decode("linux-nfs41.pcap", "rpcrdma.kind == reply", "--xid 0xf722da5e"));
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
  EXPECT_NE(r.out.find("reply 0xf722da5e"), std::string::npos);
}

TEST(Filter, ExtractTakesRpcsWhoseCallOrReplyMatches) {
  const auto files = [](const std::string& filter) {
    const TemporaryFolder folder;
    const Result r = run("RPCRDMA extract " + capture("linux-nfs41.pcap") + " -d " + folder.path() +
                         " -Y '" + filter + "'");
    EXPECT_EQ(r.status, 0) << r.err;
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      ++n;
    }
    return n;
  };
  const std::size_t all = files("frame.number");
  const std::size_t reads = files("nfs.op == READ");
  EXPECT_GT(reads, 0U);
  EXPECT_LT(reads, all);
  EXPECT_EQ(files("nfs.op == READ && rpcrdma.kind == reply"), reads);
  EXPECT_EQ(files("nfs.op == READ && rpcrdma.kind == done"), 0U);
}

// `analyze` counts the messages that `decode` shows, plus the other halves of their RPCs.
TEST(Filter, OfAnalyzeCountsRpcs) {
  const std::string file = capture("linux-nfs41.pcap");
  const auto report = [&](const std::string& filter, const std::string& more = "") {
    const Result r = run("RPCRDMA analyze --json " + file + " -Y '" + filter + "' " + more);
    EXPECT_EQ(r.status, 0) << r.err;
    return parse_json(r.out);
  };
  const std::string slow = "rpcrdma.latency > 10ms";
  const std::size_t calls = messages("linux-nfs41.pcap", slow + " && rpcrdma.kind == call").size();
  ASSERT_GT(calls, 0U);
  const TemporaryFolder folder;
  const auto of_slow = report(slow, "--html " + folder.file("page.html"));
  EXPECT_EQ(of_slow["filter"], slow);
  EXPECT_EQ(of_slow["messages"]["call"], calls);
  EXPECT_EQ(of_slow["messages"]["reply"], calls);
  EXPECT_EQ(of_slow["connections"][0]["calls"], 50);
  std::size_t counted = 0;
  for (const auto& p : of_slow["procedures"]) {
    counted += p["calls"].get<std::size_t>();
    EXPECT_GT(p["latency_us"]["min"], 10000);
  }
  EXPECT_EQ(counted, calls);
  EXPECT_NE(read_file(folder.file("page.html")).find("<code>rpcrdma.latency &gt; 10ms</code>"),
            std::string::npos);
  // Fields that only the bytes have, and fields that only the Reply has.
  EXPECT_EQ(report("rpc.auth_sys.uid == 0 && nfs.op == READ")["messages"]["call"], 7);
  EXPECT_EQ(report("nfs.op == READ && rpc.status == \"ok\"")["messages"]["call"], 7);
  EXPECT_TRUE(report("frame.number > 0")["filter"].is_string());
  const Result text = run("RPCRDMA analyze " + file + " -Y '" + slow + "'");
  EXPECT_NE(text.out.find("\nfilter: " + slow + "\n"), std::string::npos);
}

TEST(Filter, OfAnalyzeAndFindings) {
  const std::string file = capture("rules/OPS-02.pcap");
  const auto finds = [&](const std::string& filter) {
    return run("RPCRDMA analyze " + file + " -Y '" + filter + "'").out.find("error OPS-03") !=
           std::string::npos;
  };
  EXPECT_TRUE(finds("nfs || rpc"));
  EXPECT_TRUE(finds("rpcrdma.finding == \"OPS-03\""));
  EXPECT_FALSE(finds("rpcrdma.finding == \"HDR-06\""));
  EXPECT_FALSE(finds("rpc.program == 400123"));
}

TEST(Filter, DecodePrintsFieldsAsColumns) {
  const Result r =
      run("RPCRDMA decode -T fields -e frame.number -e rpc.time -e rpc.auth_sys.uid -c 3 "
          "-E header=y -E separator=, -E quote=d " +
          capture("linux-nfs41.pcap"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out,
            "frame.number,rpc.time,rpc.auth_sys.uid\n"
            "\"60\",\"0.003297000\",\n\"62\",\"0.003297000\",\n\"64\",\"0.024874000\",\"0\"\n");
  EXPECT_EQ(run("RPCRDMA decode -T fields -e foo " + capture("linux-nfs41.pcap")).status, 2);
}

TEST(Filter, DecodePrintsTheLastPart) {
  const Result r = run("RPCRDMA decode --last 10ms " + capture("linux-nfs41.pcap"));
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1);
  EXPECT_TRUE(r.out.starts_with("   878 ")) << r.out;
}

TEST(Filter, DecodeReportsThatNothingWasSelected) {
  const Result none = run("RPCRDMA decode --xid 1 " + capture("linux-nfs41.pcap"));
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.err, "rpcrdma: decode: none of 100 messages was selected\n");
  const Result empty = run("RPCRDMA decode " + capture("linux-non-rpc.pcap"));
  EXPECT_TRUE(empty.err.starts_with("rpcrdma: decode: no RPC-over-RDMA message")) << empty.err;
}

// The Reply's violation becomes visible with a later WRITE.
TEST(Filter, SeesFindingsThatComeLate) {
  const auto found = messages("rules/OPS-02.pcap", "rpcrdma.finding == \"OPS-03\"");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["frame"], 6);
  EXPECT_EQ(found[0]["findings"][0]["rule"], "OPS-03");
}

TEST(Filter, OfExtractDoesNotKnowFindings) {
  const Result r = run("RPCRDMA extract /nonexistent -Y rpcrdma.finding");
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.err.starts_with("rpcrdma: extract: --filter: rpcrdma.finding: ")) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1);
}

TEST(Filter, AWrongOneIsMarkedBeforeTheFileIsRead) {
  for (const char* command : {"decode", "extract", "analyze"}) {
    const Result r = run(std::string("RPCRDMA ") + command +
                         " /nonexistent -Y 'rpcrdma.xid == 1 && rpcrdma.credt < 4'");
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, std::string("rpcrdma: ") + command +
                         ": --filter: column 21: there is no field rpcrdma.credt, did you mean "
                         "rpcrdma.credit?\n"
                         "  rpcrdma.xid == 1 && rpcrdma.credt < 4\n"
                         "                      ^^^^^^^^^^^^^\n");
  }
}

TEST(Filter, OfCaptureIsCheckedBeforeTheInterfaceIsOpened) {
  const Result r = run("RPCRDMA capture -i nonexistent0 -Y 'rpcrdma.xid ='");
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.err.starts_with("rpcrdma: capture: --filter: column 13: ")) << r.err;
}

TEST(Fields, ListsWhatFiltersKnow) {
  const Result all = run("RPCRDMA fields");
  EXPECT_EQ(all.status, 0);
  EXPECT_NE(all.out.find("rpcrdma.latency"), std::string::npos);
  EXPECT_EQ(all.out.find("\ncm."), std::string::npos);
  const Result one = run("RPCRDMA fields rpcrdma.PROC");
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 2) << one.out;
  EXPECT_NE(one.out.find("RDMA2_OPTIONAL"), std::string::npos);
  const Result none = run("RPCRDMA fields nonsense");
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(std::count(none.err.begin(), none.err.end(), '\n'), 1);
}

// Every example in docs/filter.md must compile.
TEST(Filter, DocumentedExamplesCompile) {
  const std::string text = read_file(std::string(RPCRDMA_TEST_DOCS) + "/filter.md");
  std::istringstream in(text.substr(text.find("## Examples")));
  int examples = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string filter = line.substr(3, line.find('`', 3) - 3);
    const Result r = run("RPCRDMA decode " + capture("linux-nfs3.pcap") + " -Y '" + filter + "'");
    EXPECT_EQ(r.status, 0) << filter << "\n" << r.err;
    ++examples;
  }
  EXPECT_GT(examples, 8);
}

}  // namespace
}  // namespace rpcrdma::e2e
