// Tests which files each component installs.
#include "installation.h"

#include <filesystem>

#include <gmock/gmock.h>

namespace rpcrdma::installation {
namespace {

#ifdef RPCRDMA_ALL_PROGRAMS
void expect_files(const std::string& folder, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    EXPECT_TRUE(std::filesystem::is_regular_file(folder + file)) << folder << file;
  }
}

int count_files(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

constexpr const char* kPrefix = RPCRDMA_PREFIX;

TEST(Components, RuntimeIsTheCommand) {
  const e2e::TemporaryFolder root;
  install(root.path(), "runtime");
  expect_files(
      root.path() + kPrefix,
      {"/bin/rpcrdma", "/libexec/rpcrdma/rpcrdma-kernel", "/libexec/rpcrdma/rpcrdma-trace-dat",
       "/share/man/man1/rpcrdma.1", "/share/man/man1/rpcrdma-serve.1",
       "/share/bash-completion/completions/rpcrdma", "/share/zsh/site-functions/_rpcrdma",
       "/share/fish/vendor_completions.d/rpcrdma.fish"});
}

#ifdef RPCRDMA_HAS_LOAD_MPI
TEST(Components, MpiIsTheProgramThatLinksIt) {
  const e2e::TemporaryFolder root;
  install(root.path(), "mpi");
  expect_files(root.path() + kPrefix,
               {"/bin/rpcrdma-load-mpi", "/share/man/man1/rpcrdma-load-mpi.1"});
  EXPECT_EQ(count_files(root.path()), 2);
  const e2e::Result r = expect_ok(root.path() + kPrefix + "/bin/rpcrdma-load-mpi --version");
  EXPECT_THAT(r.out, testing::StartsWith("rpcrdma-load-mpi " RPCRDMA_VERSION));
}
#endif

TEST(Components, GuiIsTheWindow) {
  const e2e::TemporaryFolder root;
  install(root.path(), "gui");
  expect_files(
      root.path() + kPrefix,
      {"/bin/rpcrdma-gui", "/share/applications/rpcrdma-gui.desktop",
       "/share/icons/hicolor/scalable/apps/rpcrdma-gui.svg", "/share/man/man1/rpcrdma-gui.1",
       "/share/metainfo/rpcrdma-gui.metainfo.xml", "/share/rpcrdma-scope/samples/nfs-read.pcap",
       "/share/rpcrdma-scope/samples/hung-server.pcap", "/share/rpcrdma-scope/samples/loss.pcap",
       "/share/rpcrdma-scope/samples/few-credits.pcap",
       "/share/rpcrdma-scope/samples/refused-calls.pcap"});
  EXPECT_EQ(count_files(root.path()), 10);
}

TEST(Components, WiresharkIsWhereTheSystemsWiresharkLooks) {
  const e2e::TemporaryFolder root;
  install(root.path(), "wireshark");
  expect_files(root.path(),
               {RPCRDMA_PLUGIN_DIR "/rpcrdma_scope.so", RPCRDMA_EXTCAP_DIR "/rpcrdma-extcap",
                RPCRDMA_PREFIX "/share/man/man1/rpcrdma-extcap.1"});
  EXPECT_EQ(count_files(root.path()), 3);
}

TEST(Components, WiresharkHeedsAPrefixOfOnesOwn) {
  const e2e::TemporaryFolder home;
  install("", "wireshark", "--prefix " + home.file(".local"));
  expect_files(home.file(".local"),
               {"/lib/wireshark/plugins/" RPCRDMA_WIRESHARK_VERSION "/epan/rpcrdma_scope.so",
                "/lib/wireshark/extcap/rpcrdma-extcap", "/share/man/man1/rpcrdma-extcap.1"});
  EXPECT_EQ(count_files(home.path()), 3);
  const e2e::Result r =
      expect_ok(home.file(".local/lib/wireshark/extcap/rpcrdma-extcap") + " --version");
  EXPECT_THAT(r.out, testing::StartsWith("rpcrdma-extcap " RPCRDMA_VERSION));
}
#endif

TEST(Components, DocHasLicenceAndDocumentation) {
  const e2e::TemporaryFolder root;
  install(root.path(), "doc");
  const std::string folder = root.path() + RPCRDMA_PREFIX "/share/doc/rpcrdma-scope/";
  for (const char* file :
       {"LICENSE", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/service.md"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(folder + file)) << file;
  }
}

}  // namespace
}  // namespace rpcrdma::installation
