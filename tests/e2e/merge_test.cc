// Merged reports of parts, compared with the report of the whole.
#include "support/command.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

// Writes the report of a capture file; returns the report's name.
std::string report_of(const TemporaryFolder& folder, const std::string& name,
                      const std::string& file) {
  std::string path = folder.file(name);
  const Result r = run("RPCRDMA analyze --json " + file + " > " + path);
  EXPECT_EQ(r.err, "");
  return path;
}

TEST(Merge, EqualsTheAnalysisOfAllFilesInAnyOrder) {
  const TemporaryFolder folder;
  std::vector<std::string> names{"linux-deleg", "linux-nfs3", "linux-nfs41", "linux-non-rpc"};
  std::string files;
  std::string reports;
  for (const std::string& name : names) files += " " + capture(name + ".pcap");
  for (const std::string& name : names) {
    report_of(folder, name + ".json", capture(name + ".pcap"));
  }
  const Result whole = run("RPCRDMA analyze --json" + files);
  ASSERT_EQ(whole.status, 0) << whole.err;
  do {
    reports.clear();
    for (const std::string& name : names) reports += " " + folder.file(name + ".json");
    const Result merged = run("RPCRDMA merge --json" + reports);
    EXPECT_EQ(merged.status, 0) << merged.err;
    EXPECT_EQ(merged.out, whole.out) << reports;
  } while (std::next_permutation(names.begin(), names.end()));
}

// The page and tables are written, too; only the title shows that the input was reports.
TEST(Merge, WritesThePageAndTheTablesOfTheAnalysis) {
  const TemporaryFolder folder;
  std::string files;
  std::string reports;
  for (const char* name : {"linux-deleg", "linux-nfs3", "linux-nfs41"}) {
    files += " " + capture(std::string(name) + ".pcap");
    reports +=
        " " + report_of(folder, std::string(name) + ".pcap", capture(name + std::string(".pcap")));
  }
  for (const std::string& options : {std::string(), std::string(" -Y \"nfs.op == READ\"")}) {
    std::string sources = reports;
    if (!options.empty()) {
      sources.clear();
      for (const char* name : {"linux-deleg", "linux-nfs3", "linux-nfs41"}) {
        const std::string report = folder.file(std::string("filtered-") + name);
        run("RPCRDMA analyze --json " + capture(std::string(name) + ".pcap") + options + " > " +
            report);
        sources += " " + report;
      }
    }
    const Result analyzed = run("cd " + folder.path() + "; RPCRDMA analyze" + files + options +
                                " --html a.html --csv a");
    const Result merged =
        run("cd " + folder.path() + "; RPCRDMA merge" + sources + " --html m.html --csv m");
    EXPECT_EQ(merged.out, analyzed.out);
    EXPECT_EQ(merged.err, analyzed.err);
    const auto page = [&](const std::string& name) {
      std::string html = read_file(folder.file(name));
      for (const char* tag : {"title", "h1"}) {
        const std::size_t from = html.find(std::string("<") + tag + ">");
        const std::size_t to = html.find(std::string("</") + tag + ">");
        EXPECT_NE(to, std::string::npos);
        html.erase(from, to - from);
      }
      return html;
    };
    EXPECT_GT(page("a.html").size(), 10000U);
    EXPECT_EQ(page("m.html"), page("a.html"));
    for (const char* table :
         {"connections.csv", "procedures.csv", "findings.csv", "calls-over-time.csv", "credits.csv",
          "sessions.csv", "latency.csv"}) {
      EXPECT_GT(read_file(folder.file(std::string("a/") + table)).size(), 50U);
      EXPECT_EQ(read_file(folder.file(std::string("m/") + table)),
                read_file(folder.file(std::string("a/") + table)))
          << table;
    }
  }
}

TEST(Merge, RefusesDifferentFilters) {
  const TemporaryFolder folder;
  run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " > " + folder.file("all"));
  run("RPCRDMA analyze --json -Y nfs " + capture("linux-nfs3.pcap") + " > " + folder.file("some"));
  const Result r = run("RPCRDMA merge " + folder.file("all") + " " + folder.file("some"));
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "rpcrdma: the reports have different filters: none and \"nfs\"\n");
}

TEST(Merge, GroupsDoNotMatter) {
  const TemporaryFolder folder;
  const std::string a = report_of(folder, "a.json", capture("linux-nfs41.pcap"));
  const std::string b = report_of(folder, "b.json", capture("linux-nfs3.pcap"));
  const std::string c = report_of(folder, "c.json", capture("linux-deleg.pcap"));
  const std::string ab = folder.file("ab.json");
  const std::string bc = folder.file("bc.json");
  run("RPCRDMA merge --json " + a + " " + b + " > " + ab);
  run("RPCRDMA merge --json " + b + " " + c + " > " + bc);
  const Result left = run("RPCRDMA merge --json " + ab + " " + c);
  const Result right = run("RPCRDMA merge --json " + a + " " + bc);
  EXPECT_GT(left.out.size(), 1000U);
  EXPECT_EQ(left.out, right.out);
}

// A capture split in two: Calls in flight at the split are joined again.
TEST(Merge, HalvesMakeTheWhole) {
  const TemporaryFolder folder;
  const json whole = parse_json(run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap")).out);
  for (const std::size_t cut : {62U, 100U, 259U, 283U, 300U, 470U, 500U, 512U, 700U, 870U}) {
    PcapEdit first(read_file(capture("linux-nfs41.pcap")));
    PcapEdit second = first;
    first.records.resize(cut);
    second.records.erase(second.records.begin(),
                         second.records.begin() + static_cast<std::ptrdiff_t>(cut));
    write_file(folder.file("1.pcap"), first.file());
    write_file(folder.file("2.pcap"), second.file());
    const std::string a = report_of(folder, "1.json", folder.file("1.pcap"));
    const std::string b = report_of(folder, "2.json", folder.file("2.pcap"));
    const json merged = parse_json(run("RPCRDMA merge --json " + b + " " + a).out);
    EXPECT_EQ(merged["packets"]["total"], whole["packets"]["total"]) << cut;
    EXPECT_EQ(merged["packets"]["roce"], whole["packets"]["roce"]) << cut;
    ASSERT_EQ(merged["connections"].size(), 1U) << cut;
    for (const char* key : {"calls", "replies", "unmatched"}) {
      EXPECT_EQ(merged["connections"][0][key], whole["connections"][0][key]) << cut << " " << key;
    }
    for (const char* key : {"connection", "client", "server"}) {
      EXPECT_EQ(merged["latency"]["by"][key], whole["latency"]["by"][key]) << cut << " " << key;
    }
  }
}

TEST(Merge, RefusesWhatIsNoReport) {
  const TemporaryFolder folder;
  write_file(folder.file("list.json"), "[1, 2]");
  write_file(folder.file("other.json"), "{\"schema\":\"something\"}");
  write_file(folder.file("text.json"), "hello");
  for (const char* name : {"list.json", "other.json", "text.json", "missing.json"}) {
    const Result r = run("RPCRDMA merge " + folder.file(name));
    EXPECT_EQ(r.status, 2) << name;
    EXPECT_EQ(r.out, "") << name;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_NE(r.err.find(name), std::string::npos) << r.err;
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
