// What the command prints for each capture of tests/captures/rules, against EXPECTED.md there.
// After a change that is meant: RPCRDMA_WRITE_EXPECTED=1 build/release/bin/rule_captures_test.
#include "../e2e/command.h"
#include "registry.h"

#include <cstdlib>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

const std::string kRuleCaptures = std::string(RPCRDMA_TEST_CAPTURES) + "/rules/";

// The lines of `text` that name the rule, without leading spaces.
std::vector<std::string> lines_about(const std::string& text, const std::string& rule) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word != rule && word != rule + "," && word != rule + ":") continue;
      lines.push_back(line.substr(line.find_first_not_of(' ')));
      break;
    }
  }
  return lines;
}

std::string table() {
  std::string text =
      "# What `rpcrdma analyze` says of each capture\n\n"
      "Made by rule_captures_test; see README.md.\n\n| capture | line |\n|---|---|\n";
  for (const RuleScene& s : all_scenes()) {
    const std::string profile = s.profile == rules::Profile::k5666 ? "--profile 5666 " : "";
    const e2e::Result r =
        e2e::run("RPCRDMA analyze " + profile + kRuleCaptures + s.file() + ".pcap");
    EXPECT_TRUE(r.status == 0 || r.status == 1) << s.file() << ": " << r.err;
    EXPECT_EQ(r.err, "") << s.file();
    const std::vector<std::string> lines = lines_about(r.out, s.rule);
    EXPECT_FALSE(lines.empty()) << s.file() << ":\n" << r.out;
    for (const std::string& line : lines) text += "| " + s.file() + " | " + line + " |\n";
  }
  return text;
}

TEST(RuleCaptures, AnalyzePrintsWhatIsExpected) {
  const std::string now = table();
  const std::string path = kRuleCaptures + "EXPECTED.md";
  if (std::getenv("RPCRDMA_WRITE_EXPECTED") != nullptr) {
    e2e::write_file(path, now);
    return;
  }
  EXPECT_EQ(e2e::read_file(path), now);
}

TEST(RuleCaptures, NoFileIsLeftOver) {
  std::set<std::string> known{"README.md", "EXPECTED.md"};
  for (const RuleScene& s : all_scenes()) known.insert(s.file() + ".pcap");
  for (const auto& entry : std::filesystem::directory_iterator(kRuleCaptures)) {
    EXPECT_EQ(known.count(entry.path().filename().string()), 1U) << entry.path();
  }
}

}  // namespace
}  // namespace rpcrdma::scenes
