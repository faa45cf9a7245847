// Checks the shipped programs and the plugin for the compiler and linker options of
// cmake/Hardening.cmake.
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> shipped() {
  std::vector<std::string> files;
  std::istringstream list(RPCRDMA_SHIPPED);
  for (std::string file; std::getline(list, file, ':');) files.push_back(file);
  return files;
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return text;
}

class Shipped : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static std::string readelf(const char* what) {
    return output_of(fmt::format("LC_ALL=C readelf -W {} '{}'", what, GetParam()));
  }
  [[nodiscard]] static bool is_plugin() { return GetParam().ends_with(".so"); }
};

TEST_P(Shipped, IsBoundBeforeItRunsAndItsTablesAreReadOnlyThen) {
  EXPECT_THAT(readelf("-d"), HasSubstr("BIND_NOW"));
  EXPECT_THAT(readelf("-l"), HasSubstr("GNU_RELRO"));
}

TEST_P(Shipped, IsLoadedAnywhere) {
  EXPECT_THAT(readelf("-h"), ContainsRegex("Type: +DYN "));
  if (!is_plugin()) {
    EXPECT_THAT(readelf("-d"), ContainsRegex("Flags:.* PIE"));
  }
  EXPECT_THAT(readelf("-d"), Not(HasSubstr("TEXTREL")));
}

TEST_P(Shipped, HasNoMemoryThatIsWritableAndExecutable) {
  const std::string segments = readelf("-l");
  EXPECT_THAT(segments, ContainsRegex("GNU_STACK .* RW +0x"));
  EXPECT_THAT(segments, ContainsRegex("LOAD .* R E "));
  EXPECT_THAT(segments, Not(ContainsRegex(" RWE ")));
}

TEST_P(Shipped, ChecksItsStackAndTheBuffersOfTheCLibrary) {
  const std::string symbols = readelf("--dyn-syms");
  EXPECT_THAT(symbols, ContainsRegex(" UND __stack_chk_fail"));
  EXPECT_THAT(symbols, ContainsRegex(" UND __(mem|str|v?sn?|v?f|read|recv|poll|fd)[a-z]*_chk"));
}

#if defined __x86_64__
std::size_t count_in(const std::string& file, std::string_view bytes) {
  std::ifstream in(file, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(in), {});
  std::size_t count = 0;
  for (std::size_t at = all.find(bytes); at != std::string::npos; at = all.find(bytes, at + 1)) {
    ++count;
  }
  return count;
}

// Control-flow enforcement: the shadow stack is requested, and functions begin with a landing pad,
// ENDBR64. Start files contain a few, too. The property IBT requires a C library whose start files
// have all of them; Debian 12's does not.
TEST_P(Shipped, IsReadyForControlFlowEnforcement) {
  EXPECT_THAT(readelf("-n"), ContainsRegex("x86 feature: .*SHSTK"));
  EXPECT_GT(count_in(GetParam(), "\xf3\x0f\x1e\xfa"), 100U);
}
#endif

std::string file_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, Shipped, ::testing::ValuesIn(shipped()), file_name);

}  // namespace
}  // namespace rpcrdma
