// Reports of a capture that is still being read.
#include "captures_for_tests.h"

#include <string>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {
namespace {

using testing::json_of;

class SnapshotsOf : public ::testing::TestWithParam<const char*> {
 protected:
  // Reads all frames, with a snapshot at each `every`-th of them; 0: none.
  static std::string read(std::uint64_t every, std::vector<Report>& snapshots) {
    const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + GetParam());
    if (!source) return {};
    Analysis analysis;
    analysis.pipeline().expect(**source);
    capture::Frame frame;
    while ((*source)->next(frame).value()) {
      analysis.pipeline().frame(frame);
      if (every != 0 && frame.number % every == 0) {
        snapshots.push_back(analysis.snapshot((*source)->stats()));
      }
    }
    analysis.pipeline().finish();
    analysis.finish((*source)->stats());
    return json_of(analysis.report());
  }
};

TEST_P(SnapshotsOf, ChangeNothing) {
  std::vector<Report> snapshots;
  const std::string without = read(0, snapshots);
  ASSERT_TRUE(snapshots.empty());
  EXPECT_EQ(read(50, snapshots), without);
  ASSERT_FALSE(snapshots.empty());
  std::uint64_t frames = 0;
  for (const Report& r : snapshots) {
    frames += 50;
    EXPECT_EQ(r.capture.frames, frames);
  }
}

TEST_P(SnapshotsOf, CountWhatWasRead) {
  std::vector<Report> snapshots;
  read(50, snapshots);
  ASSERT_FALSE(snapshots.empty());
  const Report& last = snapshots.back();
  std::uint64_t listed = 0;
  for (const Connection& c : last.connections) listed += c.messages;
  std::uint64_t counted = 0;
  for (const std::uint64_t kind : last.messages.kinds) counted += kind;
  EXPECT_EQ(listed, counted);
  EXPECT_NE(counted, 0U);
  EXPECT_FALSE(verdict(last).text.empty());
}

INSTANTIATE_TEST_SUITE_P(Captures, SnapshotsOf,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap",
                                           "linux-deleg.pcap"));

}  // namespace
}  // namespace rpcrdma::report
