// The documents at the top of the tree: each file that they name exists, each link leads to a file,
// and the README is short, lists all commands and shows what the program prints.
#include "support/command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::docs {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kRoot = RPCRDMA_SOURCE_DIR;

std::string read(const std::string& name) {
  return e2e::read_file((kRoot / name).string());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t count_words(const std::string& text) {
  std::istringstream in(text);
  std::size_t words = 0;
  for (std::string word; in >> word;) ++words;
  return words;
}

// Files and folders below `root`, as paths relative to it; without those that a build makes.
std::set<std::string> tree(const fs::path& root) {
  std::set<std::string> paths;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
    const std::string path = at->path().lexically_relative(root).generic_string();
    if (path == "build" || path == ".git") {
      at.disable_recursion_pending();
    } else {
      paths.insert(path);
    }
  }
  return paths;
}

// A path may be shortened from the left: `pairing.cc`, `rpcrdma/fabric/provider.h`.
bool is_in(const std::set<std::string>& paths, std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (paths.contains(std::string(path))) return true;
  const std::string end = fmt::format("/{}", path);
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& known) { return known.ends_with(end); });
}

// Without its code blocks, which are commands and output.
std::string prose(const std::string& text) {
  std::string prose;
  bool fenced = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (!fenced && !line.starts_with("    ")) {
      prose += line + "\n";
    }
  }
  return prose;
}

bool looks_like_a_path(std::string_view text) {
  constexpr std::array<std::string_view, 9> kSuffixes{".cc", ".h",  ".def",   ".md", ".x",
                                                      ".py", ".sh", ".cmake", ".txt"};
  const auto is_path_character = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), is_path_character)) return false;
  if (text.starts_with('/') || text.starts_with('.') || text.starts_with("build/")) return false;
  return text.find('/') != std::string_view::npos ||
         std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](std::string_view suffix) {
           return text.size() > suffix.size() && text.ends_with(suffix);
         });
}

// Everything between `open` and `close`.
std::vector<std::string> quoted(const std::string& text, std::string_view open, char close) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    at += open.size();
    const std::size_t end = text.find(close, at);
    if (end == std::string::npos) break;
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

std::vector<std::string> missing_paths(const std::string& text,
                                       const std::set<std::string>& paths) {
  std::vector<std::string> missing;
  for (const std::string& name : quoted(prose(text), "`", '`')) {
    if (looks_like_a_path(name) && !is_in(paths, name)) missing.push_back(name);
  }
  return missing;
}

// `name`: of the document, from whose folder its links lead.
std::vector<std::string> broken_links(const std::string& name, const std::string& text) {
  std::vector<std::string> broken;
  for (const std::string& link : quoted(prose(text), "](", ')')) {
    const std::string target = link.substr(0, link.find('#'));
    if (target.empty() || target.find("://") != std::string::npos) continue;
    if (!fs::exists(kRoot / fs::path(name).parent_path() / target)) broken.push_back(link);
  }
  return broken;
}

TEST(DocumentPaths, FindsThoseThatDoNotExist) {
  const std::set<std::string> paths{"cli", "cli/main.cc", "engine/wire/icrc.cc", "tests"};
  EXPECT_THAT(missing_paths("`cli/main.cc`, `icrc.cc` and `wire/icrc.cc` in `cli/`, `tests`.\n"
                            "`wire::icrc()`, `rpcrdma top`, `build/release/bin`, `/dev/null`\n"
                            "    `cli/not_in_prose.cc`\n",
                            paths),
              IsEmpty());
  EXPECT_THAT(missing_paths("`cli/gone.cc`, `gone.h`, `ain.cc`, `cli/sub/`", paths),
              ElementsAre("cli/gone.cc", "gone.h", "ain.cc", "cli/sub/"));
}

TEST(DocumentPaths, FindsBrokenLinks) {
  EXPECT_THAT(broken_links("docs/a.md",
                           "[a](../README.md#quick-start) [b](https://example.com/x) [c](#there)"),
              IsEmpty());
  EXPECT_THAT(broken_links("docs/a.md", "[a](README.md) ![b](gone.png)"),
              ElementsAre("README.md", "gone.png"));
}

class TopDocument : public ::testing::TestWithParam<const char*> {};

TEST_P(TopDocument, NamesOnlyFilesThatExist) {
  const std::string text = read(GetParam());
  ASSERT_FALSE(text.empty());
  EXPECT_THAT(missing_paths(text, tree(kRoot)), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, TopDocument,
                         ::testing::Values("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
                                           "docs/GLOSSARY.md"));

TEST(Documents, HaveNoBrokenLinks) {
  std::vector<std::string> names{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") {
      names.push_back("docs/" + entry.path().filename().string());
    }
  }
  for (const std::string& name : names) {
    EXPECT_THAT(broken_links(name, read(name)), IsEmpty()) << name;
  }
}

TEST(Documents, ShowEveryPicture) {
  std::string all = read("README.md");
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") all += e2e::read_file(entry.path().string());
  }
  std::size_t pictures = 0;
  for (const std::string& path : tree(kRoot / "docs")) {
    if (!path.ends_with(".png")) continue;
    ++pictures;
    EXPECT_THAT(all, HasSubstr(path + ")"));
  }
  EXPECT_GT(pictures, 0U);
}

TEST(Readme, IsShort) {
  const std::string text = read("README.md");
  EXPECT_LE(lines_of(text).size(), 130U);
  EXPECT_LE(count_words(text), 1200U);
}

TEST(Readme, HasTheCommandThatContinuousIntegrationRuns) {
  EXPECT_THAT(read(".ci/run"), HasSubstr("\nexec ./dev test\n"));
  EXPECT_THAT(read("README.md"), HasSubstr("\n    ./dev test "));
  EXPECT_THAT(read("README.md"), HasSubstr("\n    ./dev demo "));
}

// The names below "Subcommands:".
std::set<std::string> commands_of_the_program() {
  std::set<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_of(e2e::run("RPCRDMA --help").out)) {
    std::string name;
    if (listed && std::istringstream(line) >> name) names.insert(name);
    listed = listed || line == "Subcommands:";
  }
  return names;
}

TEST(Readme, ListsEachCommandInAtMostTenWords) {
  constexpr std::string_view kBegin = "| `rpcrdma ";
  std::set<std::string> names;
  for (const std::string& line : lines_of(read("README.md"))) {
    if (!line.starts_with(kBegin) || line.find("` | ") == std::string::npos) continue;
    const std::size_t name_end = line.find('`', kBegin.size());
    const std::string name = line.substr(kBegin.size(), name_end - kBegin.size());
    const std::size_t text = name_end + std::string_view("` | ").size();
    // Rows of the table of speeds have options, and a third column.
    if (line.find('|', text) != line.size() - 1) continue;
    EXPECT_TRUE(names.insert(name).second) << name << " is listed twice";
    EXPECT_LE(count_words(line.substr(text, line.size() - 1 - text)), 10U) << line;
  }
  EXPECT_FALSE(names.empty());
  EXPECT_EQ(names, commands_of_the_program());
}

// Lines of the block that begins with "    $ COMMAND"; "..." stands for lines that are left out.
TEST(Readme, ShowsWhatTheProgramPrints) {
  std::vector<std::string> printed;
  std::size_t compared = 0;
  for (const std::string& line : lines_of(read("README.md"))) {
    if (line.starts_with("    $ rpcrdma ")) {
      const e2e::Result r =
          e2e::run(fmt::format("cd {} && RPCRDMA {}", RPCRDMA_SOURCE_DIR,
                               line.substr(std::string_view("    $ rpcrdma ").size())));
      printed = lines_of(r.out);
      ASSERT_FALSE(printed.empty()) << line << "\n" << r.err;
    } else if (!printed.empty() && line.starts_with("    ") && line != "    ...") {
      EXPECT_THAT(printed, Contains(line.substr(4)));
      ++compared;
    } else if (!line.empty() && !line.starts_with("    ")) {
      printed.clear();
    }
  }
  EXPECT_GE(compared, 5U);
}

}  // namespace
}  // namespace rpcrdma::docs
