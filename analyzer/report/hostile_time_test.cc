// Tests clocks that make no sense: the size of series is bounded.
#include "support/hostile_traffic.h"

#include <random>

namespace rpcrdma::report::testing {
namespace {

class HostileTime : public Hostile {
 protected:
  void pairs(std::uint32_t count, const std::function<void()>& tick) {
    for (std::uint32_t xid = 0; xid < count; ++xid) {
      tick();
      give(kClient, kServer, packet(Opcode::kSendOnly, kServerQp, xid, call_bytes(xid)));
      tick();
      give(kServer, kClient, packet(Opcode::kSendOnly, kClientQp, xid, reply_bytes(xid)));
    }
  }
  void expect_small(const std::function<void()>& tick) {
    constexpr std::uint32_t kPairs = many(50000);
    expect_within([&] { pairs(kPairs, tick); }, [] { return Limits{2 * kMiB, 50}; });
    EXPECT_EQ(analysis_.pipeline().model().connection(0).caller[0].replies, kPairs);
    // The JSON can be read back.
    std::string json;
    write_json(analysis_.report(), [&](std::string_view piece) { json += piece; });
    const auto again = read_json(json);
    EXPECT_TRUE(again.has_value()) << again.error();
  }
};

TEST_F(HostileTime, StandingStill) {
  step_ns_ = 0;
  expect_small([] {});
}

TEST_F(HostileTime, GoingBackwards) {
  step_ns_ = -1000000000;
  expect_small([] {});
}

// Times over the whole range of pcap: the years 1970 to 2106.
TEST_F(HostileTime, JumpingByYears) {
  std::mt19937 random(1);
  expect_small([&] { time_ns_ = static_cast<std::int64_t>(random()) * 1000000000; });
}

// Times as far apart as a capture can store.
TEST_F(HostileTime, AtTheEndsOfTime) {
  constexpr std::int64_t kEnd = (std::int64_t{1} << 62) - 1;
  step_ns_ = 0;
  bool end = false;
  expect_small([&] {
    end = !end;
    time_ns_ = end ? kEnd : -kEnd;
  });
}

}  // namespace
}  // namespace rpcrdma::report::testing
