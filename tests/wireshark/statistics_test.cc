// Wireshark's statistics agree with `rpcrdma analyze`, in a single pass.
#include "lines.h"
#include "tshark_once.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

json analysis(const std::string& name) {
  const Result r = tshark("RPCRDMA analyze --json " + capture(name));
  if (r.out.empty()) throw std::runtime_error(name + ": " + r.err);
  return e2e::parse_json(r.out);
}

// The rows of a table by column, such as {"Severity", "note"}.
using Table = std::vector<std::map<std::string, std::string>>;
Table table_in(const std::string& printed) {
  Table table;
  Row head;
  for (const std::string& line : lines(printed)) {
    Row cells = split(line, " |");
    if (cells.size() < 3) continue;
    if (head.empty()) {
      head = cells;
      continue;
    }
    auto& row = table.emplace_back();
    for (std::size_t i = 0; i < std::min(head.size(), cells.size()); ++i) row[head[i]] = cells[i];
  }
  return table;
}

Table statistics(const std::string& name, const char* which) {
  return table_in(tshark("TSHARK -q -r " + readable(name) + " -z rpcrdma," + which).out);
}

class Statistics : public ::testing::TestWithParam<std::string> {};

TEST_P(Statistics, ResponseTimes) {
  using Times = std::array<long long, 4>;  // Calls; minimum, maximum and total in microseconds
  std::map<std::string, Times> recorded;
  const auto rounded = [](const json& ns) { return std::llround(ns.get<double>() / 1000); };
  const json all = analysis(GetParam());
  for (const json& p : all["procedures"]) {
    const json& latency = p["latency_us"];
    if (latency["count"] == 0) continue;
    recorded[p["name"]] = {latency["count"].get<long long>(), rounded(latency["min_ns"]),
                           rounded(latency["max_ns"]), rounded(latency["sum_ns"])};
  }
  std::map<std::string, Times> shown;
  const Result r = tshark("TSHARK -q -r " + readable(GetParam()) + " -z rpcrdma,srt");
  for (const std::string& line : lines(r.out)) {
    // Index  Procedure  Calls  Min  Max  Avg  Sum
    std::istringstream in(line);
    Row words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() < 7 || words[0].find_first_not_of("0123456789") != std::string::npos) continue;
    std::string name;
    for (std::size_t i = 1; i + 5 < words.size(); ++i) name += (i > 1 ? " " : "") + words[i];
    const auto us = [&](std::size_t from_end) {
      return std::llround(std::stod(words[words.size() - from_end]) * 1e6);
    };
    shown[name] = {std::stoll(words[words.size() - 5]), us(4), us(3), us(1)};
  }
  EXPECT_FALSE(recorded.empty());
  EXPECT_EQ(shown, recorded);
}

TEST_P(Statistics, Connections) {
  const json all = analysis(GetParam());
  const Table shown = statistics(GetParam(), "connections");
  std::size_t at = 0;
  for (const json& c : all["connections"]) {
    if (c["protocol"] != "rpc-over-rdma") continue;
    ASSERT_LT(at, shown.size());
    const auto& row = shown[at++];
    const auto expect = [&](const char* column, const json& value) {
      EXPECT_EQ(row.at(column), value.dump()) << "connection " << c["id"] << " " << column;
    };
    expect("Connection", c["id"]);
    expect("Version", c["version"]);
    expect("Call threshold", c["thresholds"]["call"]);
    expect("Reply threshold", c["thresholds"]["reply"]);
    expect("Calls", c["forward"]["calls"]);
    expect("Reverse Calls", c["reverse"]["calls"]);
    expect("Replies", c["replies"]);
    expect("Errors", c["errors"]);
    const json& credits = c["credits"]["forward"];
    expect("Credits requested", credits["requested_max"]);
    expect("Minimum granted", credits["granted_min"]);
    expect("Maximum granted", credits["granted_max"]);
    expect("Maximum in use", credits["in_use_max"]);
  }
  EXPECT_GT(at, 0U);
  EXPECT_EQ(shown.size(), at);
}

TEST_P(Statistics, Chunks) {
  const json all = analysis(GetParam());
  const Table shown = statistics(GetParam(), "chunks");
  std::size_t at = 0;
  for (const json& c : all["connections"]) {
    if (c["protocol"] != "rpc-over-rdma") continue;
    ASSERT_LT(at, shown.size());
    const auto& row = shown[at++];
    const auto expect = [&](const char* column, const json& value) {
      EXPECT_EQ(row.at(column), value.dump()) << "connection " << c["id"] << " " << column;
    };
    expect("Connection", c["id"]);
    expect("Inline bytes", c["inline_bytes"]);
    expect("Read chunks", c["chunks"]["read"]["chunks"]);
    expect("Bytes read", c["chunks"]["read"]["bytes"]);
    expect("Write chunks", c["chunks"]["write"]["chunks"]);
    expect("Bytes written", c["chunks"]["write"]["bytes"]);
    expect("Reply chunks", c["chunks"]["reply"]["chunks"]);
    expect("Bytes in Replies", c["chunks"]["reply"]["bytes"]);
    expect("Unmatched operations", c["unmatched_operations"]);
  }
  EXPECT_GT(at, 0U);
  EXPECT_EQ(shown.size(), at);
}

INSTANTIATE_TEST_SUITE_P(Linux, Statistics, ::testing::ValuesIn(nfs_captures()),
                         [](const auto& instance) {
                           return std::filesystem::path(instance.param).stem().string().substr(6);
                         });

// ---- findings of every capture

// Wireshark's names: PI_ERROR, PI_WARN, PI_NOTE.
std::string severity(const std::string& number) {
  if (number == "8388608") return "error";
  if (number == "6291456") return "warning";
  return number == "4194304" ? "note" : number;
}

void expect_findings(const std::string& name) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> recorded;  // rule and severity
  const json all = analysis(name);
  for (const json& f : all["findings"]) {
    if (f["rule"] == "OUTAGE") continue;  // follows from the connections of a whole report
    recorded[{f["rule"], f["severity"]}] += f["count"].get<std::uint64_t>();
  }
  const Result r = TsharkOnce::with_plugin().run(
      readable(name), {"-z", "rpcrdma,findings", "-T", "fields", "-Y", "rpcrdma.finding", "-E",
                       "separator=#", "-E", "aggregator=^", "-e", "frame.number", "-e",
                       "rpcrdma.finding", "-e", "_ws.expert.severity", "-e", "_ws.expert.message"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
  for (const auto& row : table_in(r.out.substr(std::min(r.out.find("====="), r.out.size())))) {
    counted[{row.at("Rule"), row.at("Severity")}] += std::stoull(row.at("Count"));
  }
  EXPECT_EQ(counted, recorded) << name;

  // Findings known in a single pass. Other dissectors have expert information, too.
  for (const std::string& line : lines(r.out.substr(0, r.out.find("\n====")))) {
    const Row columns = split(line, "#");
    if (columns.size() != 4) continue;
    const Row severities = split(columns[2], "^");
    const Row messages = split(columns[3], "^");
    ASSERT_EQ(severities.size(), messages.size()) << name << " frame " << columns[0];
    for (const std::string& rule : split(columns[1], "^")) {
      bool found = false;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        found = found || (messages[i].starts_with(rule + ": ") &&
                          recorded.contains({rule, severity(severities[i])}));
      }
      EXPECT_TRUE(found) << name << " frame " << columns[0] << ": no expert information for "
                         << rule;
    }
  }
}

// By the first letter, so that they can run in parallel.
class Findings : public ::testing::TestWithParam<std::string> {};

TEST_P(Findings, AreThoseOfAnalyze) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(capture("rules"))) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() == ".pcap" && GetParam().find(name.front()) != std::string::npos) {
      names.insert("rules/" + name);
    }
  }
  EXPECT_GT(names.size(), 5U);
  for (const std::string& name : names) expect_findings(name);
}

INSTANTIATE_TEST_SUITE_P(Rules, Findings,
                         ::testing::Values("ABC", "DE", "FG", "H", "IL", "NOPQ", "R", "STUV", "W"));

TEST(FindingsOfLinux, AreThoseOfAnalyze) {
  for (const std::string& name : nfs_captures()) expect_findings(name);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
