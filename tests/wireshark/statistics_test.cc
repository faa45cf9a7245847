// What the plugin's tables count is what `rpcrdma analyze` counts.
#include "tshark.h"

#include <map>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

class Statistics : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Result r = tshark("RPCRDMA analyze --json " + capture(GetParam()));
    ASSERT_LE(r.status, 1) << r.err;  // 1: there are errors
    report_ = json::parse(r.out);
    file_ = Tshark::instance().copy(capture(GetParam()));
  }

  // Lines of a table, cell by cell.
  [[nodiscard]] std::vector<std::vector<std::string>> table(const std::string& name,
                                                            const std::string& passes) const {
    const Result r = tshark("TSHARK -q " + passes + " -r " + file_ + " -z rpcrdma," + name);
    EXPECT_EQ(r.status, 0) << r.err;
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line);
      std::vector<std::string> words;
      for (std::string word; std::getline(in, word, '|');) {
        while (!word.empty() && word.back() == ' ') word.pop_back();
        words.push_back(word);
      }
      if (!words.empty()) rows.push_back(words);
    }
    return rows;
  }

  json report_;
  std::string file_;
};

TEST_P(Statistics, FindingsAndTheirCountsReadOnce) {
  std::map<std::vector<std::string>, std::uint64_t> told;
  for (const json& f : report_["findings"]) {
    told[{f["severity"], f["rule"]}] += f["count"].get<std::uint64_t>();
  }
  std::map<std::vector<std::string>, std::uint64_t> shown;
  for (const auto& row : table("findings", "")) {
    if (row[0] != "error" && row[0] != "warning" && row[0] != "note") continue;
    ASSERT_GE(row.size(), 3U);
    shown[{row[0], row[1]}] += std::stoull(row[2]);
  }
  EXPECT_EQ(shown, told) << GetParam();
}

TEST_P(Statistics, ResponseTimes) {
  std::uint64_t replies = 0;
  std::map<std::string, std::uint64_t> told;
  for (const json& p : report_["procedures"]) {
    const auto count = p["latency_us"]["count"].get<std::uint64_t>();
    if (count != 0) told[p["name"]] += count;
    replies += count;
  }
  const Result r = tshark("TSHARK -q -r " + file_ + " -z rpcrdma,srt");
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto& [name, count] : told) {
    // Index, procedure, Calls, and times.
    const auto at = r.out.find(" " + name + " ");
    ASSERT_NE(at, std::string::npos) << name << "\n" << r.out;
    EXPECT_EQ(std::stoull(r.out.substr(at + name.size() + 2)), count) << name << "\n" << r.out;
  }
  EXPECT_GT(replies, 0U);
}

TEST_P(Statistics, ChunksOfEachConnection) {
  for (const char* passes : {"", "-2"}) {
    std::map<std::string, std::vector<std::string>> shown;
    for (const auto& row : table("chunks", passes)) {
      if (row.size() == 9 && row[0].find_first_not_of("0123456789") == std::string::npos) {
        shown[row[0]] = row;
      }
    }
    for (const json& c : report_["connections"]) {
      if (c["protocol"] != "rpc-over-rdma") continue;
      const json& chunks = c["chunks"];
      const std::vector<std::string> told{c["id"].dump(),
                                          c["inline_bytes"].dump(),
                                          chunks["read"]["chunks"].dump(),
                                          chunks["read"]["bytes"].dump(),
                                          chunks["write"]["chunks"].dump(),
                                          chunks["write"]["bytes"].dump(),
                                          chunks["reply"]["chunks"].dump(),
                                          chunks["reply"]["bytes"].dump(),
                                          c["stray_operations"].dump()};
      EXPECT_EQ(shown[told[0]], told) << GetParam() << " " << passes;
    }
  }
}

// The last eleven columns are numbers: from the thresholds on.
TEST_P(Statistics, CallsAndCreditsOfEachConnection) {
  for (const char* passes : {"", "-2"}) {
    std::map<std::string, std::vector<std::string>> shown;
    for (const auto& row : table("connections", passes)) {
      if (row.size() > 11 && row[0].find_first_not_of("0123456789") == std::string::npos) {
        shown[row[0]] = {row.end() - 11, row.end()};
      }
    }
    for (const json& c : report_["connections"]) {
      if (c["protocol"] != "rpc-over-rdma") continue;
      const json& forward = c["forward"];
      const json& reverse = c["reverse"];
      const json& credits = c["credits"]["forward"];
      const auto both = [&](const char* name) {
        return std::to_string(forward[name].get<std::uint64_t>() +
                              reverse[name].get<std::uint64_t>());
      };
      const std::vector<std::string> told{c["thresholds"]["call"].dump(),
                                          c["thresholds"]["reply"].dump(),
                                          forward["calls"].dump(),
                                          reverse["calls"].dump(),
                                          both("replies"),
                                          both("errors"),
                                          both("unmatched_calls"),
                                          credits["requested_max"].dump(),
                                          credits["granted_min"].dump(),
                                          credits["granted_max"].dump(),
                                          credits["in_use_max"].dump()};
      EXPECT_EQ(shown[c["id"].dump()], told) << GetParam() << " " << passes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, Statistics,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap",
                                           "linux-deleg.pcap", "rules/FC-01.pcap",
                                           "rules/HDR-10-unanswered.pcap", "rules/OPS-04.pcap",
                                           "rules/RECONNECT.pcap", "rules/RETX-STORM.pcap"),
                         [](const auto& instance) {
                           std::string name = std::filesystem::path(instance.param).stem();
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace rpcrdma::wireshark_tests
