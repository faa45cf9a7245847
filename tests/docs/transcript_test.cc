// docs/questions.md: each command prints the output that stands below it.
#include "support/command.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::docs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndent = "    ";
constexpr std::string_view kPrompt = "    $ ";

std::string questions() {
  return (fs::path(RPCRDMA_SOURCE_DIR) / "docs/questions.md").string();
}

// The output of a command that runs in the folder of the captures, in English, 100 columns wide.
// Standard error follows standard output.
std::string output_of(const std::string& command) {
  const fs::path folder = fs::path(RPCRDMA_SOURCE_DIR) / "tests/captures";
  const fs::path programs = fs::path(RPCRDMA_COMMAND).parent_path();
  const e2e::TemporaryFolder temporary;  // $TMP, for commands that write files
  const e2e::Result r = e2e::run(fmt::format(
      "export PATH='{}':\"$PATH\" LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 TMP='{}'; cd '{}' && {{ {}; }}",
      programs.string(), temporary.path(), folder.string(), command));
  return r.out + r.err;
}

// The document with the output of its commands as it is now. A command is a line "    $ ...",
// its output are the indented lines below it.
std::string rewritten(const std::string& text, std::size_t& commands) {
  std::string out;
  bool in_output = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kPrompt)) {
      ++commands;
      out += line + "\n";
      std::string printed_text = output_of(line.substr(kPrompt.size()));
      while (printed_text.ends_with("\n\n")) printed_text.pop_back();
      std::istringstream printed(printed_text);
      for (std::string p; std::getline(printed, p);) {
        out += p.empty() ? "\n" : fmt::format("{}{}\n", kIndent, p);
      }
      in_output = true;
    } else if (in_output && (line.empty() || line.starts_with(kIndent))) {
      continue;
    } else {
      if (in_output) out += "\n";
      in_output = false;
      out += line + "\n";
    }
  }
  return out;
}

// After a change of the output:
// RPCRDMA_WRITE_DOCS=1 build/quick/bin/documents_test --gtest_filter=Questions.*
TEST(Questions, AreAnsweredByWhatTheProgramPrints) {
  const std::string text = e2e::read_file(questions());
  std::size_t commands = 0;
  const std::string now = rewritten(text, commands);
  if (std::getenv("RPCRDMA_WRITE_DOCS") != nullptr) {
    e2e::write_file(questions(), now);
    return;
  }
  EXPECT_GE(commands, 20U);
  EXPECT_EQ(text, now);
}

}  // namespace
}  // namespace rpcrdma::docs
