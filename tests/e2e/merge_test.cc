// Reports of parts, joined, against the report of the whole.
#include "command.h"
#include "pcap_edit.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

// Writes the report of a capture file; gives the report's name.
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

// A capture cut in two: what was outstanding at the cut is joined again.
TEST(Merge, HalvesMakeTheWhole) {
  const TemporaryFolder folder;
  const json whole = json::parse(run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap")).out);
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
    const json merged = json::parse(run("RPCRDMA merge --json " + b + " " + a).out);
    EXPECT_EQ(merged["packets"]["total"], whole["packets"]["total"]) << cut;
    EXPECT_EQ(merged["packets"]["roce"], whole["packets"]["roce"]) << cut;
    ASSERT_EQ(merged["connections"].size(), 1U) << cut;
    for (const char* key : {"calls", "replies", "unmatched"}) {
      EXPECT_EQ(merged["connections"][0][key], whole["connections"][0][key]) << cut << " " << key;
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
