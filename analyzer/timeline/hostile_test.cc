// Tests that the memory of a timeline depends on what is in flight, not on the length of the
// capture.
#include "support/hostile_traffic.h"

#include <memory>

#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::timeline {
namespace {

using report::testing::heap;
using report::testing::kClient;
using report::testing::kClientQp;
using report::testing::kMiB;
using report::testing::kServer;
using report::testing::kServerQp;
using report::testing::many;
using report::testing::packet;
using wire::Opcode;

struct Maker {
  const char* name;
  std::unique_ptr<Format> (*make)(Write);
};

void PrintTo(const Maker& maker, std::ostream* out) {
  *out << maker.name;
}

class HostileTimeline : public report::testing::Hostile,
                        public ::testing::WithParamInterface<Maker> {
 protected:
  void send_from_client(std::uint32_t qp, std::uint32_t psn, std::uint32_t xid) {
    give_to(timeline_.pipeline(),
            roce::testing::ip_packet(kClient, kServer,
                                     packet(Opcode::kSendOnly, qp, psn, call_bytes(xid))));
  }
  void reply(std::uint32_t psn, std::uint32_t xid) {
    give_to(timeline_.pipeline(),
            roce::testing::ip_packet(kServer, kClient,
                                     packet(Opcode::kSendOnly, kClientQp, psn, reply_bytes(xid))));
  }

  // Returns the peak of live bytes, beyond those that were live before.
  std::size_t peak_of(const std::function<void()>& traffic) {
    const std::size_t before = heap().live;
    report::testing::reset_peak();
    traffic();
    timeline_.pipeline().finish();
    timeline_.finish(0);
    return heap().peak - before;
  }

  std::uint64_t written_ = 0;
  std::unique_ptr<Format> format_ =
      GetParam().make([this](std::string_view piece) { written_ += piece.size(); });
  Timeline timeline_{*format_};
};

TEST_P(HostileTimeline, CallsAndReplies) {
  constexpr std::uint32_t kCalls = many(40000);
  EXPECT_LE(peak_of([&] {
              for (std::uint32_t n = 0; n < kCalls; ++n) {
                send_from_client(kServerQp, n, n);
                reply(n, n);
              }
            }),
            kMiB / 16);
  EXPECT_GT(written_, kCalls * 200U);
}

// Each Call would have a row of its own if old Calls were not evicted.
TEST_P(HostileTimeline, CallsWithoutReplies) {
  EXPECT_LE(peak_of([&] {
              for (std::uint32_t n = 0; n < many(40000, 12000); ++n)
                send_from_client(kServerQp, n, n);
            }),
            12 * kMiB);
}

TEST_P(HostileTimeline, Connections) {
  EXPECT_LE(peak_of([&] {
              for (std::uint32_t n = 0; n < many(30000, 10000); ++n) send_from_client(2 + n, 7, n);
            }),
            72 * kMiB);
}

// Each packet is earlier than the one before it.
TEST_P(HostileTimeline, AClockThatRunsBack) {
  step_ns_ = -1000;
  EXPECT_LE(peak_of([&] {
              for (std::uint32_t n = 0; n < many(40000); ++n) {
                send_from_client(kServerQp, n, n);
                reply(n, n);
              }
            }),
            kMiB / 16);
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileTimeline,
                         ::testing::Values(Maker{"perfetto", make_perfetto},
                                           Maker{"qlog", make_qlog}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rpcrdma::timeline
