// A copy of the script ./dev with stand-ins for all programs that it starts, which log how they
// were called. Real builds, measurements and installations take minutes; this checks in
// milliseconds that a command starts them.
#pragma once

#include "support/command.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rpcrdma::dev {

class DevScript : public ::testing::Test {
 protected:
  DevScript() {
    namespace fs = std::filesystem;
    for (const char* made :
         {"tools", "home", "tmp", "cmake", "packaging", "tests/docs", "tests/fleet", "tests/lab",
          "tests/portability", "build/quick/bin", "build/release/bin", "build/release/extcap",
          "build/release/wireshark/epan", "build/asan/fuzz"}) {
      fs::create_directories(folder_.file(made));
    }
    for (const char* copied : {"dev", "cmake/packages.txt", "tests/portability/run"}) {
      fs::copy_file(std::string(RPCRDMA_SOURCE_DIR "/") + copied, folder_.file(copied));
    }
    e2e::write_file(folder_.file("stand-in"), kStandIn);
    fs::permissions(folder_.file("stand-in"), fs::perms::owner_all);
    for (const char* tool :
         {"apt-get", "clang-format", "clang-tidy", "cmake", "ctest", "debootstrap", "dpkg-query",
          "git", "id", "nproc", "python3", "shellcheck", "tshark", "unshare", "xvfb-run"}) {
      stand_in(std::string("tools/") + tool);
    }
    for (const char* program :
         {"rpcrdma", "rpcrdma-gui", "bench_wire", "bench_roce", "bench_analyze", "bench_udp_floor",
          "bench_fabric", "bench_engine", "bench_growth", "bench_trace", "bench_capture",
          "bench_wireshark", "bench_gui", "bench_fleet", "service_soak_test"}) {
      stand_in(std::string("build/release/bin/") + program);
    }
    stand_in("build/quick/bin/rpcrdma");
    stand_in("build/asan/fuzz/fuzz_it");
    stand_in("tests/lab/lab");
    stand_in("tests/fleet/quick-start");
    stand_in("packaging/release");
    stand_in("tests/docs/words");
    e2e::write_file(folder_.file("build/release/wireshark/epan/rpcrdma_scope.so"), "plugin");
    e2e::write_file(folder_.file("build/release/extcap/rpcrdma-extcap"), "extcap");
    e2e::write_file(folder_.file("build/release/wireshark/version"), "Wireshark plugins: 4.0\n");
  }

  void stand_in(const std::string& file) const {
    std::filesystem::create_symlink(folder_.file("stand-in"), folder_.file(file));
  }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

  // `variables`: for the stand-ins, in shell syntax.
  [[nodiscard]] e2e::Result run(const std::string& arguments, const std::string& variables = {},
                                const std::string& where = ".",
                                const std::string& script = "./dev") {
    return e2e::run(fmt::format(
        "cd {0}/{1} && env -i PATH={0}/tools:$PATH HOME={0}/home TMPDIR={0}/tmp LOG={0}/log {2} "
        "{3} {4}",
        folder_.path(), where, variables, script, arguments));
  }
  // Returns the commands started since the test began, one per line.
  [[nodiscard]] std::vector<std::string> started() const {
    std::vector<std::string> lines;
    std::istringstream in(e2e::read_file(folder_.file("log")));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  // FAILS: the start of the call that must fail. PACKAGES: the installed ones, by default all.
  // PROVIDED: provided by one of them. MISSING: not found by pkg-config or the compiler. EXTCAP: a
  // user's own extcap directory, if Wireshark has one.
  static constexpr const char* kStandIn = R"sh(#!/bin/sh
name=${0##*/}
case $name in
  nproc) echo 2; exit ;;
  id) echo "${USER_ID-0}"; exit ;;
  tshark) [ -z "$EXTCAP" ] || printf 'Personal Extcap path:\t%s\n' "$EXTCAP"; exit ;;
  dpkg-query)
    echo 'installed, a-package, '"$PROVIDED"' (= 1), another'
    echo 'config-files, libqt6opengl6-dev, '
    for p in ${PACKAGES-$(awk '/^[a-z]/ {print $1}' cmake/packages.txt)}; do echo "installed, $p, "; done
    exit
    ;;
  pkg-config | c++ | clang++)
    for m in $MISSING; do case " $* " in *" $m "*) exit 1 ;; esac; done
    exit
    ;;
  unshare)
    while [ "${1#--}" != "$1" ] || [ "$1" = private ]; do shift; done
    case $1 in debootstrap) exec "$@" ;; esac
    ;;
  git) case $1 in clone) for f; do :; done; mkdir -p "$f" ;; esac ;;
  debootstrap) for f; do case $f in *.made) mkdir -p "$f/usr/sbin" ;; esac; done ;;
esac
case "$name $1" in
  'git ls-files') echo some.cc; exit ;;
  'apt-get indextargets')
    . /etc/os-release
    printf '%s\n' "http://archive.test/other other" "http://archive.test/debian $VERSION_CODENAME"
    exit
    ;;
esac
case "$name $*" in
  *' -- -n') echo '[7/7] Linking'; exit ;;
esac
printf '%s\n' "$name $*" >>"$LOG"
if [ -n "$FAILS" ]; then
  case "$name $*" in
    "$FAILS"*) echo "$name: the stand-in fails"; exit 1 ;;
  esac
fi
case $name in
  cmake) printf '%s\n' '-- Components:' '--   cli: built' '-- Configuring done' '[7/7] Linking' ;;
  ctest)
    if [ "${BAD_TESTS-0}" = 0 ]; then echo '1: [       OK ] A.Case (0 ms)'; else echo '1: [  FAILED  ] A.Case (0 ms)'; fi
    echo "100% tests passed, ${BAD_TESTS-0} tests failed out of 1"
    echo 'Total Test time (real) = 0.01 sec'
    if [ "${BAD_TESTS-0}" != 0 ]; then
      printf 'The following tests FAILED:\n\t  7 - a_test.0 (Failed)\nErrors while running CTest\n'
    fi
    ;;
  lab)
    printf 'good           passed    1 s\n'
    if [ "${BAD_LAB-0}" = 0 ]; then
      echo '1 passed, 0 failed, 0 skipped'
    else
      printf '%s\n' 'bad            failed    2 s' '  the reason' 'console of a guest' \
        'other          passed    3 s' '2 passed, 1 failed, 0 skipped'
    fi
    ;;
esac
)sh";

  e2e::TemporaryFolder folder_;
};

}  // namespace rpcrdma::dev
