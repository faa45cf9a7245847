// Checks that the project configures with each compiler, as Release and Debug, with and without
// each of its parts, and that all inputs of the build then exist.
//
// Not all 8192 combinations: a set in which every two choices occur together in all four ways. Its
// columns are those of Kleitman and Spencer: all of row 0 are off, and each choice is on in a
// different set of four of the six others.
#include "support/command.h"

#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::build {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kRows = 7;

// On: clang++, Debug, the part is built.
enum Choice : std::size_t { kClang, kDebug, kFirstPart };
constexpr std::array<const char*, 11> kParts{"CLI",     "LIVE", "VERBS", "WIRESHARK",
                                             "METRICS", "GUI",  "TESTS", "EXTCAP",
                                             "BENCH",   "FUZZ", "MPI"};
constexpr std::size_t kChoices = kFirstPart + kParts.size();

// For each choice, a bit mask of the rows in which it is on.
std::array<unsigned, kChoices> columns() {
  std::array<unsigned, kChoices> columns{};
  std::size_t found = 0;
  for (unsigned rows = 0; found < kChoices; rows += 2) {  // never in row 0
    if (std::popcount(rows) == 4) columns[found++] = rows;
  }
  return columns;
}

bool is_on(std::size_t choice, std::size_t row) {
  return (columns()[choice] >> row & 1U) != 0;
}

// libFuzzer needs clang.
bool is_built(std::size_t part, std::size_t row) {
  if (std::string_view(kParts[part]) == "FUZZ" && !is_on(kClang, row)) return false;
  return is_on(kFirstPart + part, row);
}

std::string configure(const std::string& folder, bool clang, bool debug, const std::string& parts) {
  return fmt::format(
      "{} -G Ninja -S {} -B {} -DCMAKE_MAKE_PROGRAM={} -DCMAKE_CXX_COMPILER={} "
      "-DCMAKE_BUILD_TYPE={}{}",
      RPCRDMA_CMAKE, RPCRDMA_SOURCE_DIR, folder, RPCRDMA_NINJA, clang ? "clang++" : "g++",
      debug ? "Debug" : "Release", parts);
}

TEST(BuildMatrix, HoldsEveryTwoChoicesInAllWays) {
  for (std::size_t a = 0; a < kChoices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::array<bool, 4> seen{};
      for (std::size_t row = 0; row < kRows; ++row) {
        seen[std::size_t{is_on(a, row)} * 2 + std::size_t{is_on(b, row)}] = true;
      }
      EXPECT_THAT(seen, testing::Each(true)) << a << " and " << b;
    }
  }
}

class BuildMatrixRow : public ::testing::TestWithParam<std::size_t> {};

TEST_P(BuildMatrixRow, LacksNothing) {
  const std::size_t row = GetParam();
  std::string parts;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    parts += fmt::format(" -DRPCRDMA_{}={}", kParts[part], is_built(part, row) ? "ON" : "OFF");
  }
  const e2e::TemporaryFolder folder;
  const std::string command =
      configure(folder.path(), is_on(kClang, row), is_on(kDebug, row), parts);
  SCOPED_TRACE(command);
  const e2e::Result configured = e2e::run(command);
  ASSERT_EQ(configured.status, 0) << configured.out << configured.err;
  EXPECT_THAT(configured.err, Not(HasSubstr("Warning")));
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    if (is_built(part, row)) continue;
    EXPECT_THAT(configured.out, HasSubstr(fmt::format("disabled (RPCRDMA_{}=OFF)", kParts[part])));
  }
  const e2e::Result planned =
      e2e::run(fmt::format("{} -C {} -n all programs system_tests", RPCRDMA_NINJA, folder.path()));
  EXPECT_EQ(planned.status, 0) << planned.out << planned.err;
}

INSTANTIATE_TEST_SUITE_P(All, BuildMatrixRow, ::testing::Range(std::size_t{0}, kRows));

TEST(BuildMatrix, FuzzersWithoutClangAreRefused) {
  const e2e::TemporaryFolder folder;
  const e2e::Result r = e2e::run(configure(
      folder.path(), false, false, " -DRPCRDMA_FUZZ=ON -DRPCRDMA_GUI=OFF -DRPCRDMA_TESTS=OFF"));
  EXPECT_NE(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("RPCRDMA_FUZZ needs clang"));
}

}  // namespace
}  // namespace rpcrdma::build
