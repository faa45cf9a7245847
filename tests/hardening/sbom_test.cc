// Tests that the software bill of materials lists what the shipped programs load and compile in.
#include "support/command.h"
#include "support/json.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kScript = RPCRDMA_SOURCE_DIR "/packaging/sbom";

std::set<std::string> words_of(const std::string& command) {
  std::istringstream in(e2e::run(command).out);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

class Sbom : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string files = RPCRDMA_SHIPPED;
    std::replace(files.begin(), files.end(), ':', ' ');
    const e2e::Result r =
        e2e::run(fmt::format("python3 {} {} {}", kScript, RPCRDMA_BUILD_DIR, files));
    ASSERT_EQ(r.status, 0) << r.err;
    bill() = e2e::parse_json(r.out);
  }
  static json& bill() {
    static json document;
    return document;
  }
  static json component(const std::string& name) {
    for (const json& c : bill()["components"]) {
      if (c["name"] == name) return c;
    }
    ADD_FAILURE() << name << " is not listed";
    return json::object();
  }
};

TEST_F(Sbom, IsOfThisVersion) {
  EXPECT_EQ(bill()["bomFormat"], "CycloneDX");
  EXPECT_EQ(bill()["metadata"]["component"]["version"], RPCRDMA_VERSION);
}

TEST_F(Sbom, HasTheChecksumOfEachProgram) {
  std::istringstream files(RPCRDMA_SHIPPED);
  for (std::string file; std::getline(files, file, ':');) {
    const json program = component(file.substr(file.rfind('/') + 1));
    EXPECT_THAT(e2e::run("sha256sum '" + file + "'").out,
                StartsWith(program["hashes"][0]["content"].get<std::string>() + " "));
  }
}

// Compares with the loader's own list, by package.
TEST_F(Sbom, ListsThePackageOfEachLibraryThatIsLoaded) {
  std::set<std::string> listed;
  for (const json& c : bill()["components"]) {
    if (c.value("scope", "") == "required") listed.insert(c["name"].get<std::string>());
  }
  std::istringstream files(RPCRDMA_SHIPPED);
  for (std::string file; std::getline(files, file, ':');) {
    for (const std::string& library :
         words_of("readelf -dW '" + file + "' | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'")) {
      const std::set<std::string> owners =
          words_of("dpkg-query -S '*/" + library + "' | cut -d: -f1 | sort -u");
      EXPECT_THAT(owners, Contains(testing::AnyOfArray(listed))) << library;
    }
  }
}

TEST_F(Sbom, StatesVersionsAsThePackageManagerDoes) {
  for (const char* package : {"libc6", "libstdc++6", "libpcap0.8", "nlohmann-json3-dev"}) {
    const std::string version =
        e2e::run(fmt::format("dpkg-query -W -f '${{Version}}' {}", package)).out;
    EXPECT_EQ(component(package).value("version", ""), version);
    EXPECT_THAT(component(package).value("purl", ""), HasSubstr("@" + version));
  }
}

TEST_F(Sbom, AFolderWithoutABuildIsOneLine) {
  const e2e::Result r = e2e::run(fmt::format("python3 {} /nowhere /bin/true", kScript));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, StartsWith("sbom: ninja -C /nowhere: "));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_EQ(r.out, "");
}

}  // namespace
}  // namespace rpcrdma
