#include <gtest/gtest.h>

#include <rpcrdma/soft/sim_line.h>

namespace rpcrdma::soft {
namespace {

using fabric::Time;

fabric::Time arrival(SimLine& line, std::size_t bytes, Time now) {
  const SimFate fate = line.enter(bytes, now);
  return fate.arrives ? fate.arrival : -1;
}

// Preamble 8, Ethernet 14, IPv4 20 or IPv6 40, UDP 8, datagram, frame check 4, gap 12.
TEST(SimLine, BytesOnTheWire) {
  EXPECT_EQ(sim_wire_bytes(1000, false), 1066U);
  EXPECT_EQ(sim_wire_bytes(1000, true), 1086U);
}

TEST(SimLine, DelayAlone) {
  SimLine line({.delay = 700}, 1);
  EXPECT_EQ(arrival(line, 1000, 50), 750);
  EXPECT_EQ(arrival(line, 1000, 50), 750);
}

// 1000 bytes at 1 Gb/s take 8000 ns.
TEST(SimLine, OneAfterTheOther) {
  SimLine line({.delay = 700, .bits_per_second = 1'000'000'000}, 1);
  EXPECT_EQ(arrival(line, 1000, 50), 50 + 8000 + 700);
  EXPECT_EQ(arrival(line, 1000, 50), 50 + 16000 + 700);
  EXPECT_EQ(arrival(line, 500, 10'000), 50 + 20000 + 700);
  // The line was idle since 20,050.
  EXPECT_EQ(arrival(line, 1000, 30'000), 38'000 + 700);
}

// 1000 bytes at 3 Gb/s take 2666 2/3 ns: three take 8000 ns, not 7998.
TEST(SimLine, RoundingDoesNotAddUp) {
  SimLine line({.bits_per_second = 3'000'000'000}, 1);
  EXPECT_EQ(arrival(line, 1000, 0), 2666);
  EXPECT_EQ(arrival(line, 1000, 0), 5333);
  EXPECT_EQ(arrival(line, 1000, 0), 8000);
}

// At 1 Gb/s a byte takes 8 ns.
TEST(SimLine, TheQueueDropsWhatDoesNotFit) {
  SimLine line({.bits_per_second = 1'000'000'000, .queue_bytes = 2500}, 1);
  EXPECT_EQ(arrival(line, 1000, 0), 8000);
  EXPECT_EQ(arrival(line, 1000, 0), 16000);
  EXPECT_EQ(arrival(line, 1000, 0), -1);
  // A smaller one fits: 2000 + 500.
  EXPECT_EQ(arrival(line, 500, 0), 20000);
  // After 7992 ns 999 bytes are sent, and the queue has one byte too few; 8 ns later it fits.
  EXPECT_EQ(arrival(line, 1000, 7992), -1);
  EXPECT_EQ(arrival(line, 1000, 8000), 28000);
  EXPECT_EQ(line.counters().packets, 6U);
  EXPECT_EQ(line.counters().bytes, 5500U);
  EXPECT_EQ(line.counters().queue_drops, 2U);
}

TEST(SimLine, ASlowLineWithALongQueue) {
  SimLine line({.bits_per_second = 1, .queue_bytes = 1 << 20}, 1);
  EXPECT_EQ(arrival(line, 1000, 0), 8000 * fabric::kSecond);
  EXPECT_EQ(arrival(line, 1000, 0), 16000 * fabric::kSecond);
}

TEST(SimLine, AFastLineWithALongQueue) {
  SimLine line({.bits_per_second = 400'000'000'000, .queue_bytes = std::size_t{1} << 33}, 1);
  Time last = 0;
  for (int i = 0; i < 1000; ++i) last = arrival(line, 4'000'000, 0);
  EXPECT_EQ(last, 80'000'000);  // 32e9 bits at 400e9 a second
}

TEST(SimLine, ChangesWhileItRuns) {
  SimLine line({.delay = 10}, 1);
  EXPECT_EQ(arrival(line, 1000, 0), 10);
  line.change({.delay = 20, .loss = 1});
  EXPECT_EQ(arrival(line, 1000, 0), -1);
  line.change({.delay = 30});
  EXPECT_EQ(arrival(line, 1000, 0), 30);
}

// The bounds are five standard deviations of a binomial distribution over 100,000 packets.
TEST(SimLine, RatesAreKept) {
  SimLine line({.delay = 10,
                .loss = 0.02,
                .corruption = 0.03,
                .duplication = 0.05,
                .reordering = 0.1,
                .reordering_delay = 90},
               42);
  int lost = 0;
  int corrupt = 0;
  int twice = 0;
  int late = 0;
  for (int i = 0; i < 100'000; ++i) {
    const SimFate fate = line.enter(100, 0);
    lost += fate.arrives ? 0 : 1;
    if (!fate.arrives) continue;
    corrupt += fate.corrupt ? 1 : 0;
    twice += fate.twice ? 1 : 0;
    late += fate.arrival == 100 ? 1 : 0;
    ASSERT_TRUE(fate.arrival == 10 || fate.arrival == 100);
  }
  EXPECT_NEAR(lost, 2000, 222);
  EXPECT_NEAR(corrupt, 98'000 * 0.03, 270);
  EXPECT_NEAR(twice, 98'000 * 0.05, 342);
  EXPECT_NEAR(late, 98'000 * 0.1, 470);
  EXPECT_EQ(line.counters().lost, static_cast<std::uint64_t>(lost));
  EXPECT_EQ(line.counters().corrupted, static_cast<std::uint64_t>(corrupt));
  EXPECT_EQ(line.counters().duplicated, static_cast<std::uint64_t>(twice));
  EXPECT_EQ(line.counters().reordered, static_cast<std::uint64_t>(late));
}

}  // namespace
}  // namespace rpcrdma::soft
