// Checks that shellcheck finds nothing in the project's shell scripts.
#include "lint_scripts.h"
#include "support/command.h"

#include <regex>

#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

namespace fs = std::filesystem;

// Recognized by their first lines; paths are relative to the project.
std::vector<std::string> shell_scripts() {
  std::vector<std::string> scripts;
  const fs::path root(RPCRDMA_SOURCE_DIR);
  const std::regex shell("#!.*[ /](ba)?sh");
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() &&
        (name == "build" || name == ".git" || fs::exists(it->path() / "DEBIAN")))
      it.disable_recursion_pending();
    if (!it->is_regular_file()) continue;
    std::ifstream in(it->path(), std::ios::binary);
    std::string line(64, '\0');
    in.read(line.data(), 64);
    line.resize(std::min(line.find('\n'), static_cast<std::size_t>(in.gcount())));
    if (std::regex_match(line, shell)) scripts.push_back(fs::relative(it->path(), root).string());
  }
  return scripts;
}

TEST(Scripts, ShellcheckFindsNothing) {
  const std::vector<std::string> scripts = shell_scripts();
  EXPECT_THAT(scripts, testing::Contains("dev"));
  std::string files;
  for (const std::string& script : scripts) files += " '" + script + "'";
  const e2e::Result r = e2e::run("cd " RPCRDMA_SOURCE_DIR " && shellcheck" + files);
  EXPECT_EQ(r.status, 0) << r.out << r.err;
}

TEST(Scripts, LintChecksEach) {
  const std::string list = " " + lint_scripts() + " ";
  for (const std::string& script : shell_scripts()) {
    EXPECT_THAT(list, testing::HasSubstr(" " + script + " "));
  }
}

}  // namespace
}  // namespace rpcrdma::dev
