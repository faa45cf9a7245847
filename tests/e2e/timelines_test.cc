// The output of `export`: well-formed for any capture, and with the same counts as `analyze`.
#include "support/command.h"
#include "support/pcap_edit.h"
#include "support/timeline_checks.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using timeline::testing::read_sequence;
using timeline::testing::read_trace;
using timeline::testing::Trace;

// Sums over all connections.
struct Counts {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t retransmitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t connections = 0;
  std::map<std::string, std::uint64_t> findings;  // by rule
  friend bool operator==(const Counts&, const Counts&) = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& c) {
  out << c.connections << " connections, " << c.calls << " Calls, " << c.replies << " Replies, "
      << c.errors << " errors, " << c.unmatched << " unmatched, " << c.retransmitted
      << " retransmitted, " << c.refused << " refused";
  for (const auto& [rule, count] : c.findings) out << ", " << rule << " " << count;
  return out;
}

Counts counts_of_report(const json& report) {
  Counts c;
  for (const json& connection : report["connections"]) {
    ++c.connections;
    for (const char* direction : {"forward", "reverse"}) {
      const json& d = connection[direction];
      c.calls += d["calls"].get<std::uint64_t>();
      c.replies += d["replies"].get<std::uint64_t>();
      c.errors += d["errors"].get<std::uint64_t>();
      c.unmatched += d["unmatched_calls"].get<std::uint64_t>();
    }
  }
  const json& packets = report["packets"];
  c.retransmitted = packets["retransmitted"];
  c.refused = packets["nak"].get<std::uint64_t>() + packets["rnr"].get<std::uint64_t>();
  for (const json& f : report["findings"]) {
    if (f["rule"] == "OUTAGE") continue;  // follows from the connections of a whole report
    c.findings[f["rule"]] += f["count"].get<std::uint64_t>();
  }
  return c;
}

void count_ending(Counts& c, const std::string& ending) {
  ++c.calls;
  ++(ending == "replied" ? c.replies : ending == "rdma_error" ? c.errors : c.unmatched);
}

Counts counts_of_trace(const std::string& text) {
  const Trace trace = read_trace(text);
  Counts c;
  for (const json& call : trace.calls) count_ending(c, call["args"]["ended"]);
  for (const json& e : trace.instants) {
    const json& args = e["args"];
    if (e["cat"] == "finding") c.findings[e["name"]] += args.value("count", std::uint64_t{1});
    if (e["cat"] == "retransmission") c.retransmitted += args["packets"].get<std::uint64_t>();
    if (e["cat"] == "refusal") ++c.refused;
    if (e["cat"] == "connection" && args.contains("state")) ++c.connections;
  }
  return c;
}

Counts counts_of_sequence(const std::string& text) {
  Counts c;
  for (const json& r : read_sequence(text)) {
    const std::string name = r.value("name", "");
    if (name.empty()) continue;
    const json& data = r["data"];
    if (name == "rpcrdma:call_ended") count_ending(c, data["ending"]);
    if (name == "rpcrdma:finding") c.findings[data["rule"]] += data["count"].get<std::uint64_t>();
    if (name == "rpcrdma:retransmission") c.retransmitted += data["packets"].get<std::uint64_t>();
    if (name == "rpcrdma:refusal") ++c.refused;
    if (name == "rpcrdma:connection_closed") ++c.connections;
  }
  return c;
}

// Checks the output of the three commands for the captures that match a shell pattern.
void expect_counts_of_analyze(const std::string& pattern, std::size_t at_least) {
  const TemporaryFolder folder;
  const Result r = run("for f in " + pattern + "; do o=" + folder.path() +
                       "/${f##*/}; RPCRDMA analyze --json $f >$o.json; "
                       "RPCRDMA export --format perfetto $f >$o.trace || exit 9; "
                       "RPCRDMA export --format qlog $f -o $o.sqlog || exit 9; done");
  ASSERT_EQ(r.status, 0) << r.err;
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json")) continue;
    ++captures;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string base = path.substr(0, path.size() - 5);
    const Counts expected = counts_of_report(parse_json(read_file(path)));
    EXPECT_EQ(counts_of_trace(read_file(base + ".trace")), expected);
    EXPECT_EQ(counts_of_sequence(read_file(base + ".sqlog")), expected);
  }
  EXPECT_GE(captures, at_least);
}

TEST(Timelines, CountWhatAnalyzeCounts) {
  expect_counts_of_analyze(capture("*.pcap"), 5);
}

// Conversations that break rules, by the first letters of the rules' names, so that they can run in
// parallel.
class TimelinesOfWhatIsWrongToo : public ::testing::TestWithParam<const char*> {};

TEST_P(TimelinesOfWhatIsWrongToo, CountWhatAnalyzeCounts) {
  expect_counts_of_analyze(capture("rules/") + "[" + GetParam() + "]*.pcap", 15);
}

INSTANTIATE_TEST_SUITE_P(Rules, TimelinesOfWhatIsWrongToo,
                         ::testing::Values("A-C", "D-G", "H", "I-Q", "R", "S-Z"));

TEST(Timelines, OfWhatIsWrongAreOfEveryCapture) {
  for (const auto& entry : std::filesystem::directory_iterator(capture("rules"))) {
    const char first = entry.path().filename().string().front();
    EXPECT_TRUE(first >= 'A' && first <= 'Z') << entry.path();
  }
}

TEST(Timelines, MessagesAreThoseOfDecode) {
  const std::string file = capture("linux-nfs41.pcap");
  std::vector<json> messages;
  for (const json& r : read_sequence(run("RPCRDMA export --format qlog " + file).out)) {
    if (r.value("name", "") == "rpcrdma:message") messages.push_back(r["data"]);
  }
  const std::vector<json> decoded = json_lines(run("RPCRDMA decode --json " + file).out);
  ASSERT_EQ(messages.size(), decoded.size());
  ASSERT_FALSE(messages.empty());
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    for (const char* key : {"frame", "kind", "xid", "credit", "proc", "read_list", "write_list",
                            "reply_chunk", "rpc", "direction", "length", "credits"}) {
      // More becomes known later about a Call in a Position Zero chunk.
      if (key == std::string("rpc") && messages[i][key].is_null()) continue;
      EXPECT_EQ(messages[i][key], decoded[i][key]) << key << " of frame " << decoded[i]["frame"];
    }
  }
}

TEST(Timelines, CallsLastAsLongAsAnalyzeSays) {
  const std::string file = capture("linux-nfs3.pcap");
  const json slowest = parse_json(run("RPCRDMA analyze --json " + file).out)["slowest"];
  ASSERT_FALSE(slowest.empty());
  const Trace trace = read_trace(run("RPCRDMA export --format perfetto " + file).out);
  for (const json& slow : slowest) {
    const auto call = std::find_if(trace.calls.begin(), trace.calls.end(), [&](const json& c) {
      return c["args"]["frame"] == slow["frame"];
    });
    ASSERT_NE(call, trace.calls.end()) << slow;
    EXPECT_EQ(timeline::testing::nanoseconds((*call)["dur"]), slow["latency_ns"]) << slow;
  }
}

TEST(Timelines, OfCapturesCutAnywhere) {
  const TemporaryFolder folder;
  std::mt19937 random(17);
  const std::string whole = read_file(capture("linux-nfs3.pcap"));
  for (int i = 0; i < 12; ++i) {
    const std::size_t length = 24 + random() % (whole.size() - 24);
    SCOPED_TRACE(length);
    write_file(folder.file("cut.pcap"), whole.substr(0, length));
    const Result trace = run("RPCRDMA export --format perfetto " + folder.file("cut.pcap"));
    const Result sequence = run("RPCRDMA export --format qlog " + folder.file("cut.pcap"));
    EXPECT_EQ(trace.status, 0) << trace.err;
    EXPECT_EQ(sequence.status, 0) << sequence.err;
    EXPECT_EQ(counts_of_trace(trace.out), counts_of_sequence(sequence.out));
  }
}

TEST(Timelines, OfDamagedCaptures) {
  const TemporaryFolder folder;
  std::mt19937 random(19);
  const std::string whole = read_file(capture("linux-deleg.pcap"));
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    std::string bytes = whole;
    for (int n = 0; n <= i; ++n) {
      // The first changes hit the file's own header, too.
      const std::size_t at = i < 8 ? random() % 64 : 24 + random() % (bytes.size() - 24);
      bytes[at] ^= static_cast<char>(1 + random() % 255);
    }
    write_file(folder.file("damaged.pcap"), bytes);
    const Result trace = run("RPCRDMA export --format perfetto " + folder.file("damaged.pcap"));
    const Result sequence = run("RPCRDMA export --format qlog " + folder.file("damaged.pcap"));
    EXPECT_EQ(trace.status, sequence.status);
    // No longer a capture.
    if (trace.out.empty() && trace.status == 2) continue;
    EXPECT_EQ(counts_of_trace(trace.out), counts_of_sequence(sequence.out));
  }
}

TEST(Timelines, OfACaptureWithoutPackets) {
  const TemporaryFolder folder;
  write_file(folder.file("none.pcap"), read_file(capture("linux-nfs3.pcap")).substr(0, 24));
  const Result trace = run("RPCRDMA export --format perfetto " + folder.file("none.pcap"));
  EXPECT_EQ(trace.status, 0) << trace.err;
  EXPECT_EQ(counts_of_trace(trace.out), Counts{});
  const Result sequence = run("RPCRDMA export --format qlog " + folder.file("none.pcap"));
  EXPECT_EQ(read_sequence(sequence.out).size(), 1U);
}

TEST(Timelines, SeveralFilesAreOneCapture) {
  const TemporaryFolder folder;
  const std::string whole = capture("linux-nfs41.pcap");
  PcapEdit first(read_file(whole));
  PcapEdit second = first;
  const auto half = static_cast<std::ptrdiff_t>(first.records.size() / 2);
  first.records.erase(first.records.begin() + half, first.records.end());
  second.records.erase(second.records.begin(), second.records.begin() + half);
  write_file(folder.file("a.pcap"), first.file());
  write_file(folder.file("b.pcap"), second.file());
  for (const std::string format : {"perfetto", "qlog"}) {
    const std::string command = "RPCRDMA export --format " + format + " ";
    const Result one = run(command + whole);
    EXPECT_GT(one.out.size(), 10000U);
    EXPECT_EQ(run("gzip -k " + folder.file("a.pcap") + "; zcat " + folder.file("a.pcap.gz") +
                  " | " + command + folder.file("b.pcap") + " -")
                  .out,
              one.out);
    EXPECT_EQ(run(command + whole + " -j 1").out, one.out);
    EXPECT_EQ(
        run(command + whole + " -o " + folder.file("out") + " && cat " + folder.file("out")).out,
        one.out);
  }
}

TEST(Timelines, AFilterChoosesRpcs) {
  const std::string file = capture("linux-nfs41.pcap");
  const std::string filter = " -Y 'nfs.op == READ'";
  const json report = parse_json(run("RPCRDMA analyze --json " + file + filter).out);
  const Counts trace =
      counts_of_trace(run("RPCRDMA export --format perfetto " + file + filter).out);
  const Counts sequence =
      counts_of_sequence(run("RPCRDMA export --format qlog " + file + filter).out);
  EXPECT_GT(trace.calls, 0U);
  EXPECT_LT(trace.calls, 50U);
  EXPECT_EQ(trace.calls, report["messages"]["call"]);
  EXPECT_EQ(trace.replies, report["messages"]["reply"]);
  EXPECT_EQ(trace, sequence);
}

TEST(Timelines, Refused) {
  const TemporaryFolder folder;
  const std::string file = capture("linux-nfs3.pcap");
  const std::string copy = folder.file("copy.pcap");
  write_file(copy, read_file(file));
  for (const std::string& arguments :
       {file, "--format svg " + file, std::string("--format qlog"),
        "--format qlog -Y 'rpcrdma.finding' " + file, "--format qlog -Y 'nonsense' " + file,
        "--format qlog /nonexistent -o " + folder.file("none"),
        "--format perfetto -o /dev/full " + file, "--format perfetto -o /nonexistent/x " + file,
        "--format perfetto -o " + copy + " " + copy,
        "--format perfetto -o " + folder.path() + "/../" +
            std::filesystem::path(folder.path()).filename().string() + "/copy.pcap " + copy}) {
    const Result r = run("RPCRDMA export " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
    EXPECT_NE(r.err, "") << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("none")));
  EXPECT_EQ(read_file(copy), read_file(file));
  EXPECT_EQ(run("RPCRDMA export --format qlog " + file + " >/dev/full").status, 2);
}

}  // namespace
}  // namespace rpcrdma::e2e
