// Tests the project within another one, which links its libraries and keeps its own settings.
#include "installation.h"

#include <gmock/gmock.h>

namespace rpcrdma::installation {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_to_be_part(const char* fetch) {
  const e2e::TemporaryFolder folder;
  const std::string build = folder.file("build");
  expect_ok(fmt::format("cmake -S " RPCRDMA_SOURCE_DIR
                        "/tests/install/subproject -B {} -G Ninja -D FETCH={} "
                        "-D RPCRDMA_SOURCE=" RPCRDMA_SOURCE_DIR
                        " -D CMAKE_CXX_COMPILER=" RPCRDMA_COMPILER,
                        build, fetch));
  // Lists what would be built; building it takes minutes.
  const e2e::Result all = expect_ok("cmake --build " + build + " -- -n");
  EXPECT_THAT(all.out, HasSubstr("librpcrdma_service.a"));
  for (const char* other : {"librpcrdma_report.a", "_test", "cli/"}) {
    EXPECT_THAT(all.out, Not(HasSubstr(other)));
  }
  // Nothing of it is installed with the other project.
  expect_ok(fmt::format("DESTDIR={0} cmake --install {1}", folder.file("root"), build));
  EXPECT_FALSE(std::filesystem::exists(folder.file("root")));
}

TEST(Subproject, IsPartByAddSubdirectory) {
  expect_to_be_part("OFF");
}

TEST(Subproject, IsPartByFetchContent) {
  expect_to_be_part("ON");
}

}  // namespace
}  // namespace rpcrdma::installation
