// Tests the installed libraries: other programs find them with CMake and with pkg-config, and link
// them without link-time optimization, with GCC and with clang.
#include "installation.h"

#include <filesystem>
#include <optional>

#include <gmock/gmock.h>

namespace rpcrdma::installation {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kExample = RPCRDMA_SOURCE_DIR "/engine/service/example.cc";

class InstalledLibrary : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    install(folder_->path(), "development");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  // The test's directory acts as the root of a system, where the build's prefix is absolute.
  static std::string prefix() { return folder_->path() + RPCRDMA_PREFIX; }
  static std::string library_folder() { return prefix() + "/" RPCRDMA_LIBDIR; }
  static std::string file(const std::string& name) { return folder_->file(name); }
  static std::string pkg_config() {
    return "PKG_CONFIG_PATH=" + library_folder() + "/pkgconfig pkg-config";
  }
  // Configures a project that asks for the package with these arguments.
  static e2e::Result find_package(const std::string& arguments) {
    const std::string project = file("finds");
    std::filesystem::remove_all(project);
    std::filesystem::create_directory(project);
    e2e::write_file(project + "/CMakeLists.txt",
                    "cmake_minimum_required(VERSION 3.25)\nproject(finds LANGUAGES CXX)\n"
                    "find_package(rpcrdma " +
                        arguments + ")\nmessage(STATUS \"found: ${rpcrdma_FOUND}\")\n");
    return e2e::run(
        fmt::format("cmake -S {0} -B {0}/build -G Ninja -D CMAKE_PREFIX_PATH={1} "
                    "-D CMAKE_CXX_COMPILER=" RPCRDMA_COMPILER,
                    project, prefix()));
  }

 private:
  static std::optional<e2e::TemporaryFolder> folder_;
};
std::optional<e2e::TemporaryFolder> InstalledLibrary::folder_;

TEST_F(InstalledLibrary, IsFoundByCMake) {
  expect_ok(fmt::format("cmake -S " RPCRDMA_SOURCE_DIR
                        "/tests/install/find_package -B {0} -G Ninja "
                        "-D CMAKE_PREFIX_PATH={1} -D EXAMPLE={2} -D CMAKE_BUILD_TYPE=Debug "
                        "-D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_CXX_COMPILER=" RPCRDMA_COMPILER,
                        file("build"), prefix(), kExample));
  expect_ok("cmake --build " + file("build"));
  expect_ok(file("build") + "/example 127.86.84.1");
  const e2e::Result r = expect_ok(file("build") + "/verdict " + e2e::capture("linux-nfs41.pcap"));
  EXPECT_THAT(r.out, HasSubstr("50 Calls"));
}

TEST_F(InstalledLibrary, IsFoundByPkgConfigAndLinkedByAnotherCompiler) {
  const auto compile = [](const std::string& source, const std::string& packages) {
    expect_ok(fmt::format(RPCRDMA_OTHER_COMPILER
                          " -std=c++20 -O0 {} -o {} $({} --cflags --libs {})",
                          source, file("by-pkg-config"), pkg_config(), packages));
  };
  compile(kExample, "rpcrdma-service rpcrdma-soft");
  expect_ok(file("by-pkg-config") + " 127.86.84.2");
  compile(RPCRDMA_SOURCE_DIR "/tests/install/find_package/verdict.cc", "rpcrdma-analyzer");
  const e2e::Result r = expect_ok(file("by-pkg-config") + " " + e2e::capture("linux-nfs41.pcap"));
  EXPECT_THAT(r.out, HasSubstr("50 Calls"));
}

TEST_F(InstalledLibrary, EachLibraryIsKnownToPkgConfig) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(library_folder() + "/pkgconfig")) {
    ++count;
    const e2e::Result r = expect_ok(pkg_config() + " --exists --print-errors '" +
                                    entry.path().stem().string() + " = " RPCRDMA_VERSION "'");
  }
  EXPECT_GE(count, 20);
}

TEST_F(InstalledLibrary, AComponentThatIsNotThereIsNamed) {
  const e2e::Result r = find_package("REQUIRED COMPONENTS service frobnicate");
  EXPECT_NE(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("rpcrdma has no component"));
  EXPECT_THAT(r.err, HasSubstr("frobnicate"));
}

TEST_F(InstalledLibrary, AnotherMinorVersionIsNotTaken) {
  const e2e::Result r = find_package("99.0 REQUIRED COMPONENTS service");
  EXPECT_NE(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr(RPCRDMA_VERSION));
}

TEST_F(InstalledLibrary, WithoutComponentsAllAreFound) {
  const e2e::Result r = find_package("REQUIRED");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("found: 1"));
}

// Slim objects, or a compiler's intermediate code beside machine code, would tie users to one
// version of GCC.
TEST_F(InstalledLibrary, HoldsMachineCodeAlone) {
  int archives = 0;
  for (const auto& entry : std::filesystem::directory_iterator(library_folder())) {
    if (entry.path().extension() != ".a") continue;
    ++archives;
    const e2e::Result r = e2e::run("LC_ALL=C readelf -SW '" + entry.path().string() + "'");
    ASSERT_EQ(r.status, 0);
    EXPECT_THAT(r.out, HasSubstr(".text")) << entry.path();
    EXPECT_THAT(r.out, Not(AnyOf(HasSubstr(".gnu.lto_"), HasSubstr("__asan")))) << entry.path();
  }
  EXPECT_GE(archives, 20);
}

TEST_F(InstalledLibrary, SaysNothingOfTheFolderThatItWasBuiltIn) {
  const e2e::Result r = e2e::run(fmt::format("grep -rIlE '" RPCRDMA_BUILD "|" RPCRDMA_SOURCE_DIR
                                             "' {0}/cmake {0}/pkgconfig {1}/include",
                                             library_folder(), prefix()));
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.status, 1) << r.err;
}

}  // namespace
}  // namespace rpcrdma::installation
