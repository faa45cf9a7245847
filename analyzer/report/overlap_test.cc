// Tests that a merge refuses reports that show the same traffic, and no others.
#include "overlap.h"

#include "captures_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using testing::report_of;

constexpr std::int64_t kOverlapStart = 1700000000000000000;
constexpr std::int64_t kMs = 1'000'000;

// A report with one connection that has packets from `from` to `until`.
Report seen(std::int64_t from, std::int64_t until, std::uint32_t client_qp = 17,
            std::uint32_t server_qp = 18) {
  Report r;
  r.capture.files = 1;
  r.capture.frames = static_cast<std::uint64_t>(until - from) + 2;
  r.capture.first_ns = kOverlapStart + from;
  r.capture.last_ns = kOverlapStart + until;
  r.connection_ids = 1;
  Connection& c = r.connections.emplace_back();
  c.id = 1;
  c.speaks = model::Speaks::kRpc;
  c.side[0].address = "10.0.0.2";
  c.side[1].address = "10.0.0.1";
  if (client_qp != 0) c.side[0].qpn = client_qp;
  if (server_qp != 0) c.side[1].qpn = server_qp;
  c.first_ns = r.capture.first_ns;
  c.last_ns = r.capture.last_ns;
  c.first_frame = 1;
  c.last_frame = r.capture.frames;
  return r;
}

bool refused(const std::vector<Report>& reports) {
  const auto whole = merge(reports);
  return !whole && whole.error().find("would count twice") != std::string::npos;
}

TEST(Overlap, TheSameReportTwice) {
  const Report r = report_of("linux-nfs41.pcap");
  const auto whole = merge({r, r}, {"a.json", "b.json"});
  ASSERT_FALSE(whole);
  EXPECT_THAT(whole.error(), HasSubstr("a.json and b.json overlap: both show the connection "));
  // A capture without a connection.
  const Report other = report_of("linux-non-rpc.pcap");
  Report empty = other;
  empty.connections.clear();
  EXPECT_EQ(merge({empty, empty}).error(),
            "report 1 and report 2 are the same report, and its Calls would count twice");
  EXPECT_TRUE(merge({Report(), Report()}));
}

// Both ends capture one connection; their clocks differ a little.
TEST(Overlap, BothEndsOfAConnection) {
  EXPECT_TRUE(refused({seen(0, 1000 * kMs), seen(3 * kMs, 1004 * kMs)}));
  // Even if it lasted less than a millisecond.
  EXPECT_TRUE(refused({seen(0, 600'000), seen(50'000, 640'000)}));
  // One end saw only one direction.
  EXPECT_TRUE(refused({seen(0, 1000 * kMs), seen(3 * kMs, 1004 * kMs, 0, 18)}));
  // They do not agree which side is the client.
  Report swapped = seen(3 * kMs, 1004 * kMs);
  std::swap(swapped.connections[0].side[0], swapped.connections[0].side[1]);
  EXPECT_TRUE(refused({seen(0, 1000 * kMs), swapped}));
}

// A ring whose files a capture reads once too often.
TEST(Overlap, AmongSeveralReports) {
  EXPECT_TRUE(
      refused({seen(0, 1000 * kMs), seen(1000 * kMs, 2000 * kMs), seen(500 * kMs, 600 * kMs)}));
  EXPECT_TRUE(refused({seen(5000 * kMs, 6000 * kMs), seen(0, 9000 * kMs)}));
  // A connection of the same report lasts longest.
  Report two = seen(0, 9000 * kMs);
  Connection again = two.connections[0];
  again.id = two.connection_ids = 2;
  again.first_ns += kMs;
  two.connections.push_back(again);
  EXPECT_TRUE(refused({two, seen(5000 * kMs, 6000 * kMs)}));
}

TEST(Overlap, ConsecutiveFilesOfARingAreMerged) {
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), seen(1000 * kMs, 2000 * kMs)}));
  EXPECT_FALSE(
      refused({seen(2000 * kMs, 3000 * kMs), seen(0, 1000 * kMs), seen(1001 * kMs, 1999 * kMs)}));
  // Two processors stamped the packets around the cut.
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), seen(1000 * kMs - 20'000, 2000 * kMs)}));
  // The later file has one frame.
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), seen(1000 * kMs, 1000 * kMs)}));
}

TEST(Overlap, OtherConnectionsAtTheSameTimeAreMerged) {
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), seen(0, 1000 * kMs, 19, 20)}));
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), seen(0, 1000 * kMs, 17, 20)}));
  Report elsewhere = seen(0, 1000 * kMs);
  elsewhere.connections[0].side[0].address = "10.0.0.3";
  EXPECT_FALSE(refused({seen(0, 1000 * kMs), elsewhere}));
}

}  // namespace
}  // namespace rpcrdma::report
