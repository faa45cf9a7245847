// The plugin on captures that are whole, damaged, or opened repeatedly: no crash, no dissector bug,
// and closing a capture frees its memory.
#include "damage.h"
#include "dissection.h"
#include "support/live_bytes.h"
#include "support/traffic_count.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark::testing {
namespace {

namespace fs = std::filesystem;

// Damaged copies: many with the address sanitizer, which sees their effect; some of each kind also
// in a release build.
constexpr unsigned kCopies = report::testing::kSanitized ? 200 : 50;     // of a real capture
constexpr unsigned kShortCopies = report::testing::kSanitized ? 20 : 5;  // of one with a violation
constexpr std::size_t kWindow = 60;                                      // frames per damaged copy

const fs::path kCaptures = RPCRDMA_TEST_CAPTURES;

// Returns that many consecutive frames: every fourth time the first ones, with the connection's
// set-up.
std::vector<Record> window(const std::vector<Record>& capture, std::size_t frames,
                           std::uint64_t seed) {
  if (capture.size() <= frames) return capture;
  const std::size_t begin =
      seed % 4 == 0 ? 0 : std::mt19937_64(seed)() % (capture.size() - frames + 1);
  const auto first = capture.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(frames)};
}

// Copies share a file, as separate connections: whenever Wireshark opens a file it reads all its
// name tables again, and keeps the old ones.
class Copies {
 public:
  static constexpr std::uint16_t kTogether = 100;

  void add(std::vector<Record> capture, unsigned copy) {
    readdress(capture, ++count_);
    damage(capture, static_cast<Damage>(copy % kDamages), copy);
    std::move(capture.begin(), capture.end(), std::back_inserter(file_));
    if (count_ == kTogether) dissect_all();
  }

  void dissect_all() {
    const Seen seen = dissect(file_, Again::kBackwards);
    EXPECT_EQ(seen.bugs, "");
    ours_ += seen.ours;
    file_.clear();
    count_ = 0;
  }
  [[nodiscard]] std::uint64_t ours() const { return ours_; }

 private:
  std::vector<Record> file_;
  std::uint16_t count_ = 0;
  std::uint64_t ours_ = 0;
};

class Real : public ::testing::TestWithParam<const char*> {
 protected:
  bool speaks =
      std::string(GetParam()).starts_with("linux") && std::string(GetParam()) != "linux-non-rpc";
  std::vector<Record> capture = read_capture(kCaptures / (std::string(GetParam()) + ".pcap"));
};

INSTANTIATE_TEST_SUITE_P(WiresharkSafety, Real,
                         ::testing::Values("linux-nfs41", "linux-nfs3", "linux-deleg",
                                           "linux-non-rpc", "roce-icrc-oracle"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(Real, WholeIsDissectedWithoutFault) {
  const Seen seen = dissect(capture);
  EXPECT_EQ(seen.bugs, "");
  EXPECT_EQ(seen.unstable, "");
  EXPECT_EQ(seen.ours != 0, speaks);
  // Wireshark's own dissector reports READs as malformed.
  EXPECT_EQ(seen.malformed, 0U);
}

TEST_P(Real, DamagedIsDissectedWithoutFault) {
  Copies copies;
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    copies.add(window(capture, kWindow, copy / kDamages), copy);
  }
  copies.dissect_all();
  if (speaks) {
    EXPECT_GT(copies.ours(), 0U);
  }
}

// Counts memory of the plugin, which is all C++: Wireshark keeps some of its own each time.
TEST(WiresharkReload, GivesMemoryBack) {
  const std::vector<Record> capture = window(read_capture(kCaptures / "linux-nfs41.pcap"), 150, 0);
  std::size_t after_5 = 0;
  for (int reload = 1; reload <= 50; ++reload) {
    static_cast<void>(dissect(capture));
    if (reload == 5) after_5 = report::testing::heap().live;
  }
  EXPECT_LE(report::testing::heap().live, after_5 + 4096);
}

class Rules : public ::testing::TestWithParam<int> {};
constexpr int kParts = 8;
INSTANTIATE_TEST_SUITE_P(WiresharkSafety, Rules, ::testing::Range(0, kParts));

std::vector<fs::path> captures_in(const char* folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCaptures / folder)) {
    const std::string kind = entry.path().extension();
    if (kind.starts_with(".pcap") || kind == ".erf") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// In tunnels, on other link types, and with messages that the analyzer does not recognize.
TEST(WiresharkSafety, CasesAreShownAlikeEachTime) {
  const std::vector<fs::path> paths = captures_in("cases");
  ASSERT_GT(paths.size(), 70U);
  for (const fs::path& path : paths) {
    const Seen seen = dissect(read_capture(path));
    EXPECT_EQ(seen.bugs, "") << path;
    EXPECT_EQ(seen.unstable, "") << path;
  }
}

// Every capture that breaks or follows a rule, those of the dialects of version 2, and cases from
// bug reports.
TEST_P(Rules, DamagedIsDissectedWithoutFault) {
  std::vector<fs::path> paths;
  for (const char* folder : {"rules", "dialects", "cases"}) {
    for (const fs::path& path : captures_in(folder)) paths.push_back(path);
  }
  ASSERT_GT(paths.size(), 100U);
  Copies copies;
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < paths.size(); i += kParts) {
    const std::vector<Record> capture = read_capture(paths[i]);
    for (unsigned copy = 0; copy < kShortCopies; ++copy) copies.add(capture, copy);
  }
  copies.dissect_all();
  EXPECT_GT(copies.ours(), 0U);
}

}  // namespace
}  // namespace rpcrdma::wireshark::testing
