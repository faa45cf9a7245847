// Checks the direction of includes: engine/ includes nothing of the analyzer, and gui/ and
// wireshark-plugin/ nothing of the command rpcrdma. CMake rejects most such includes, but not those
// by a relative path, nor those of a target that links a wrong library.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

namespace rpcrdma::build {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

const fs::path kRoot = RPCRDMA_SOURCE_DIR;

// Returns the libraries of a directory: each has its headers in LIBRARY/include/rpcrdma/NAME.
std::set<std::string> libraries_of(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const fs::path& path = entry.path();
    if (entry.is_directory() && path.parent_path().filename() == "rpcrdma" &&
        path.parent_path().parent_path().filename() == "include") {
      names.insert(path.filename());
    }
  }
  return names;
}

std::vector<std::string> includes_in(std::string_view text) {
  constexpr std::string_view kInclude = "#include ";
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kInclude)) names.emplace_back(line.substr(kInclude.size()));
  }
  return names;
}

// Returns a file's includes from `folder`, whose libraries are `libraries`.
std::vector<std::string> includes_of(const std::string& folder,
                                     const std::set<std::string>& libraries, const fs::path& file,
                                     std::string_view text) {
  constexpr std::string_view kOurs = "<rpcrdma/";
  std::vector<std::string> found;
  for (const std::string& name : includes_in(text)) {
    bool reaches = false;
    if (name.starts_with(kOurs)) {
      const std::string rest = name.substr(kOurs.size());
      reaches = libraries.contains(rest.substr(0, rest.find('/')));
    } else if (name.starts_with('"')) {
      const fs::path path =
          (file.parent_path() / name.substr(1, name.rfind('"') - 1)).lexically_normal();
      reaches = *path.lexically_relative(kRoot).begin() == folder;
    }
    if (reaches) found.push_back(file.lexically_relative(kRoot).string() + ": " + name);
  }
  return found;
}

bool is_test(const fs::path& file) {
  const std::string name = file.filename();
  return name.ends_with("_test.cc") || name.find("for_tests") != std::string::npos ||
         name.ends_with("_testing.h") || name.starts_with("test_");
}

std::vector<std::string> includes_from(const std::string& from, const std::string& folder,
                                       const std::set<std::string>& libraries) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / from)) {
    const fs::path& file = entry.path();
    if ((file.extension() != ".h" && file.extension() != ".cc") || is_test(file)) continue;
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::string& one : includes_of(folder, libraries, file, text)) {
      found.push_back(std::move(one));
    }
  }
  return found;
}

TEST(Layers, AnIncludeAgainstTheDirectionIsFound) {
  const std::string text =
      "// text\n#include \"own.h\"\n#include <vector>\n#include <rpcrdma/model/model.h>\n"
      "#include <rpcrdma/wire/xdr.h>\n#include \"../../analyzer/report/html.h\"\n";
  EXPECT_THAT(includes_of("analyzer", {"model"}, kRoot / "engine/service/loop.cc", text),
              ElementsAre("engine/service/loop.cc: <rpcrdma/model/model.h>",
                          "engine/service/loop.cc: \"../../analyzer/report/html.h\""));
}

TEST(Layers, EngineIncludesNothingOfTheAnalyzer) {
  const std::set<std::string> libraries = libraries_of("analyzer");
  ASSERT_THAT(libraries, Contains("capture"));
  EXPECT_THAT(includes_from("engine", "analyzer", libraries), IsEmpty());
}

TEST(Layers, OnlyTheCommandIncludesItsOwnLibraries) {
  std::set<std::string> libraries = libraries_of("cli");
  ASSERT_THAT(libraries, Contains("top"));
  libraries.erase("command_line");  // with which the extcap program describes its options, too
  for (const char* const from : {"engine", "analyzer", "gui", "wireshark-plugin"}) {
    EXPECT_THAT(includes_from(from, "cli", libraries), IsEmpty()) << from;
  }
}

}  // namespace
}  // namespace rpcrdma::build
