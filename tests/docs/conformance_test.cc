// docs/conformance.md: what the specifications ask, where it is done, and the test that shows it.
// Generated from statements.def. Each file and test that the table names exists.
#include "support/command.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::docs {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const fs::path kTree = RPCRDMA_SOURCE_DIR;

struct Place {
  std::string_view file;  // empty: the statement asks nothing of this part, or it is not done
  std::string_view test;
};
struct Statement {
  std::string_view document, section, text;
  Place sender, receiver, analyzer;
  std::string_view note;
};

constexpr Place kNowhere{};
const std::vector<Statement>& statements() {
  static const std::vector<Statement> all{
#define NOWHERE kNowhere
#define AT(file, test) \
  Place {              \
    file, test         \
  }
#define RPCRDMA_STATEMENT(document, section, text, sender, receiver, analyzer, note) \
  {document, section, text, sender, receiver, analyzer, note},
#include "statements.def"
#undef RPCRDMA_STATEMENT
#undef AT
#undef NOWHERE
  };
  return all;
}

std::string content_of(const fs::path& path) {
  return e2e::read_file(path.string());
}

// All C++ sources below a folder.
std::string sources_below(const std::string& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(kTree / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cc" || extension == ".h") all += content_of(entry.path());
  }
  return all;
}

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// The name at `at`, which is moved behind it.
std::string_view name_at(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_name(text[at])) ++at;
  return text.substr(begin, at - begin);
}

// Calls `add` with suite and name of each TEST, TEST_F and TEST_P.
template <typename Add>
void find_tests(std::string_view text, Add add) {
  for (std::size_t at = 0; (at = text.find("TEST", at)) != std::string_view::npos;) {
    const std::string_view macro = name_at(text, at);
    if (macro != "TEST" && macro != "TEST_F" && macro != "TEST_P") continue;
    if (at == text.size() || text[at] != '(') continue;
    ++at;
    const std::string_view suite = name_at(text, at);
    if (at == text.size() || text[at] != ',') continue;
    ++at;
    add(fmt::format("{}.{}", suite, name_at(text, at)));
  }
}

// Calls `add` with each quoted name: the scenes' rules are among them.
template <typename Add>
void find_quoted(std::string_view text, Add add) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string_view::npos;) {
    ++at;
    const std::string_view name = name_at(text, at);
    if (at < text.size() && text[at] == '"') add(std::string(name));
  }
}

// "Suite.Name" of GoogleTest, "hostile RULE", "rule RULE".
std::set<std::string> all_tests() {
  std::set<std::string> tests;
  for (const char* folder : {"engine", "analyzer", "cli", "tests"}) {
    find_tests(sources_below(folder), [&](std::string test) { tests.insert(std::move(test)); });
  }
  const auto add_quoted = [&](const char* folder, const std::string& kind) {
    find_quoted(sources_below(folder), [&](const std::string& name) { tests.insert(kind + name); });
  };
  add_quoted("tests/hostile", "hostile ");
  add_quoted("tests/rules", "rule ");
  return tests;
}

std::vector<Place> places_of(const Statement& s) {
  std::vector<Place> places;
  for (const Place& p : {s.sender, s.receiver, s.analyzer}) {
    if (!p.file.empty()) places.push_back(p);
  }
  return places;
}

std::string cell(const Place& place) {
  if (place.file.empty()) return "";
  const std::string name = fs::path(place.file).filename().string();
  const std::string link = fmt::format("[{}](../{})", name, place.file);
  return place.test.empty() ? link : fmt::format("{}: {}", link, place.test);
}

std::string page() {
  std::string out =
      "# Conformance\n\n"
      "What the specifications ask of the sender of a message, of its receiver, and of an "
      "analyzer: the file that "
      "does it, and\nthe test that shows it. `hostile` is a scene of [hostile.md](hostile.md), "
      "`rule` a scene of "
      "tests/rules. The last column\nsays what is not done, and why. `documents_test` generates "
      "this file from "
      "tests/docs/statements.def, and checks that\neach file and each test exists. Do not edit "
      "it.\n";
  std::string_view document;
  for (const Statement& s : statements()) {
    if (s.document != document) {
      document = s.document;
      out += fmt::format(
          "\n## {}\n\n| section | statement | sender | receiver | analyzer | not done |\n"
          "|---|---|---|---|---|---|\n",
          document);
    }
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", s.section, s.text, cell(s.sender),
                       cell(s.receiver), cell(s.analyzer), s.note);
  }
  return out;
}

TEST(Conformance, EachStatementIsDoneSomewhereOrSaysWhyNot) {
  std::vector<std::string> bare;
  for (const Statement& s : statements()) {
    if (places_of(s).empty() && s.note.empty()) bare.emplace_back(s.text);
  }
  EXPECT_THAT(bare, IsEmpty());
  EXPECT_GE(statements().size(), 168U);
}

TEST(Conformance, FilesAndTestsExist) {
  const std::set<std::string> tests = all_tests();
  EXPECT_GT(tests.size(), 1000U);
  std::vector<std::string> missing;
  for (const Statement& s : statements()) {
    for (const Place& p : places_of(s)) {
      if (!fs::is_regular_file(kTree / p.file)) missing.emplace_back(p.file);
      const bool untested = p.test.empty() && !s.note.empty();
      if (!untested && !tests.contains(std::string(p.test))) {
        missing.push_back(fmt::format("{} {}: {}", s.document, s.section, p.test));
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

// After a change of the table:
// RPCRDMA_WRITE_DOCS=1 build/release/bin/documents_test --gtest_filter=Conformance.*
TEST(Conformance, ThePageShowsTheTable) {
  const fs::path path = kTree / "docs/conformance.md";
  if (std::getenv("RPCRDMA_WRITE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << page();
    return;
  }
  EXPECT_EQ(content_of(path), page());
}

}  // namespace
}  // namespace rpcrdma::docs
