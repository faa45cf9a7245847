// Two simulated clocks, of which the truth is known: the offset that align() finds is as close to
// it as its bound states, and no message arrives before it was sent.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/ends/clock.h>

namespace rpcrdma::ends {
namespace {

constexpr std::int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'790'000'000 * kSecond;

// The other clock, by true time, which is the reference.
struct OtherClock {
  std::int64_t offset_ns = 0;  // reference minus other, at kStart
  double drift_ppm = 0;
  struct Step {
    std::int64_t at_ns, by_ns;  // by the reference; grows the offset
  };
  std::vector<Step> steps;
  std::int64_t knee_ns = std::numeric_limits<std::int64_t>::max();  // from here on another drift
  double later_drift_ppm = 0;

  std::int64_t operator()(std::int64_t time_ns) const {
    const double before = static_cast<double>(std::min(time_ns, knee_ns) - kStart) * drift_ppm;
    const double after =
        time_ns > knee_ns ? static_cast<double>(time_ns - knee_ns) * later_drift_ppm : 0;
    std::int64_t offset = offset_ns + std::llround((before + after) * 1e-6);
    for (const Step& step : steps) {
      if (time_ns >= step.at_ns) offset += step.by_ns;
    }
    return time_ns - offset;
  }
};

struct Delays {
  std::int64_t there_ns = 20 * kMicrosecond, back_ns = 20 * kMicrosecond;  // at least
  double jitter_ns = 15'000;                                               // mean
};

// Calls from the reference to the other point, and their Replies.
struct Traffic {
  std::vector<Crossing> crossings;
  std::vector<std::int64_t> truth;  // when the other point saw the message
  std::int64_t smallest_round_trip_ns = std::numeric_limits<std::int64_t>::max();
  OtherClock other;
  std::mt19937_64 random;

  Traffic(OtherClock clock, std::uint64_t seed) : other(std::move(clock)), random(seed) {}

  void run(std::int64_t from_ns, std::int64_t until_ns, int calls, const Delays& delays) {
    std::uniform_int_distribution<std::int64_t> begin(from_ns, until_ns);
    std::gamma_distribution<double> jitter(2, delays.jitter_ns / 2);
    std::exponential_distribution<double> service(1 / 50'000.0);
    for (int i = 0; i < calls; ++i) {
      const std::int64_t sent = begin(random);
      const std::int64_t there = delays.there_ns + std::llround(jitter(random));
      const std::int64_t back = delays.back_ns + std::llround(jitter(random));
      const std::int64_t arrived = sent + there;
      const std::int64_t replied = arrived + std::llround(service(random));
      add({sent, other(arrived), true}, arrived);
      add({other(replied), replied + back, false}, replied);
      smallest_round_trip_ns = std::min(smallest_round_trip_ns, there + back);
    }
  }

  void add(const Crossing& crossing, std::int64_t true_ns) {
    crossings.push_back(crossing);
    truth.push_back(true_ns);
  }
};

std::int64_t other_time(const Crossing& crossing) {
  return crossing.from_reference ? crossing.received_ns : crossing.sent_ns;
}

struct Outcome {
  std::size_t mapped = 0, early = 0, beyond_bound = 0;
  std::int64_t worst_error_ns = 0;
};

Outcome judge(const Traffic& traffic, const ClockMap& map) {
  Outcome outcome;
  for (std::size_t i = 0; i < traffic.crossings.size(); ++i) {
    const Crossing& crossing = traffic.crossings[i];
    const auto mapped = map.to_reference(other_time(crossing));
    if (!mapped) continue;
    ++outcome.mapped;
    const std::int64_t sent = crossing.from_reference ? crossing.sent_ns : *mapped;
    const std::int64_t received = crossing.from_reference ? *mapped : crossing.received_ns;
    if (received < sent) ++outcome.early;
    const std::int64_t error = std::abs(*mapped - traffic.truth[i]);
    outcome.worst_error_ns = std::max(outcome.worst_error_ns, error);
    if (error > map.bound_at(other_time(crossing)).value_or(-1)) ++outcome.beyond_bound;
  }
  return outcome;
}

void expect_right(const Traffic& traffic, const ClockMap& map) {
  const Outcome outcome = judge(traffic, map);
  EXPECT_EQ(outcome.mapped, traffic.crossings.size());
  EXPECT_EQ(outcome.early, 0u);
  EXPECT_EQ(outcome.beyond_bound, 0u) << "worst error " << outcome.worst_error_ns;
  EXPECT_EQ(map.contradictions, 0u);
  EXPECT_EQ(map.jumps, 0u);
}

TEST(Clock, OffsetOfASecondWithDriftIsFoundToHalfTheSmallestRoundTrip) {
  Traffic traffic({.offset_ns = kSecond, .drift_ppm = 50}, 1);
  traffic.run(kStart, kStart + kSecond, 1000, {});
  const ClockMap map = align(traffic.crossings);
  expect_right(traffic, map);
  ASSERT_TRUE(map.usual_bound_ns());
  EXPECT_LT(2 * *map.usual_bound_ns(), traffic.smallest_round_trip_ns);
  EXPECT_LT(*map.worst_bound_ns(), traffic.smallest_round_trip_ns);
  ASSERT_EQ(map.stretches.size(), 3u);
  EXPECT_NEAR(map.stretches[1].drift_ppm, 50, 10);
}

TEST(Clock, AnyOffsetDriftAndAsymmetry) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto between = [&](double a, double b) {
      return std::uniform_real_distribution<double>(a, b)(random);
    };
    OtherClock clock;
    clock.offset_ns = std::llround(between(-1e18, 1e18));
    clock.drift_ppm = between(-100, 100);
    Delays delays;
    delays.there_ns = std::llround(std::pow(10, between(3, 7)));
    delays.back_ns = std::llround(std::pow(10, between(3, 7)));
    delays.jitter_ns = std::pow(10, between(2, 7));
    Traffic traffic(clock, seed);
    const auto span = std::llround(std::pow(10, between(7, 10.5)));
    traffic.run(kStart, kStart + span, static_cast<int>(between(1, 500)), delays);
    const ClockMap map = align(traffic.crossings);
    expect_right(traffic, map);
    EXPECT_TRUE(map.worst_bound_ns());
  }
}

TEST(Clock, LongTracesKeepTheirOrder) {
  Traffic traffic({.offset_ns = -3 * kSecond, .drift_ppm = -80}, 2);
  traffic.run(kStart, kStart + 200 * kSecond, 20'000, {});
  const ClockMap map = align(traffic.crossings);
  expect_right(traffic, map);
  EXPECT_GE(map.stretches.size(), 15u);
  EXPECT_LT(map.usual_bound_ns().value_or(kSecond), traffic.smallest_round_trip_ns * 6 / 10);
  std::int64_t before = 0;
  const std::int64_t end = traffic.other(kStart + 200 * kSecond);
  for (std::int64_t t = traffic.other(kStart); t < end; t += 5 * kMillisecond + 1) {
    const auto mapped = map.to_reference(t);
    ASSERT_TRUE(mapped);
    EXPECT_GT(*mapped, before);
    before = *mapped;
  }
  for (const ClockStretch& stretch : map.stretches) {
    const auto first = map.to_reference(stretch.from_ns);
    const auto earlier = map.to_reference(stretch.from_ns - 1);
    if (first && earlier) EXPECT_GE(*first, *earlier);
  }
}

TEST(Clock, DriftThatChangesIsFollowed) {
  Traffic traffic({.offset_ns = kSecond,
                   .drift_ppm = 90,
                   .knee_ns = kStart + 37 * kSecond,
                   .later_drift_ppm = -90},
                  3);
  traffic.run(kStart, kStart + 60 * kSecond, 12'000, {});
  const ClockMap map = align(traffic.crossings);
  const Outcome outcome = judge(traffic, map);
  EXPECT_GT(outcome.mapped, traffic.crossings.size() * 99 / 100);
  // A line over the bend is possible as long as it stays within the limits.
  EXPECT_LT(outcome.worst_error_ns, traffic.smallest_round_trip_ns);
  EXPECT_LE(outcome.early, map.contradictions);
  EXPECT_LE(map.contradictions, 10u);
}

TEST(Clock, StepsDivideStretches) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    OtherClock clock;
    clock.offset_ns = kSecond;
    clock.drift_ppm = std::uniform_real_distribution<double>(-100, 100)(random);
    const std::int64_t size =
        std::llround(std::pow(10, std::uniform_real_distribution<double>(6.5, 11)(random)));
    // Growing offset: the other clock steps back. Then times come twice, which the next case tests.
    clock.steps = {{kStart + 2 * kSecond, -size}, {kStart + 5 * kSecond, -3 * size}};
    Traffic traffic(clock, seed);
    traffic.run(kStart, kStart + 8 * kSecond, 2000, {});
    const ClockMap map = align(traffic.crossings);
    EXPECT_EQ(map.jumps, 2u);
    EXPECT_LE(map.contradictions, 2u);
    const Outcome outcome = judge(traffic, map);
    EXPECT_EQ(outcome.beyond_bound, 0u) << outcome.worst_error_ns << " size " << size;
    EXPECT_GE(outcome.mapped, traffic.crossings.size() - 40);
    EXPECT_LE(map.worst_bound_ns().value_or(kSecond), 40 * kMicrosecond);
  }
}

TEST(Clock, TimesThatComeTwiceAreInNoStretch) {
  OtherClock clock;
  clock.offset_ns = -5 * kSecond;
  clock.steps = {{kStart + 4 * kSecond, 2 * kSecond}};  // back by two seconds
  Traffic traffic(clock, 4);
  traffic.run(kStart, kStart + 8 * kSecond, 4000, {});
  const ClockMap map = align(traffic.crossings);
  EXPECT_EQ(map.jumps, 1u);
  const Outcome outcome = judge(traffic, map);
  EXPECT_EQ(outcome.beyond_bound, 0u);
  EXPECT_EQ(outcome.early, 0u);
  // Two seconds come twice; what remains are two before and two after.
  EXPECT_NEAR(static_cast<double>(outcome.mapped) / static_cast<double>(traffic.crossings.size()),
              0.5, 0.05);
  EXPECT_FALSE(map.to_reference(traffic.other(kStart + 3 * kSecond)));
}

TEST(Clock, StepShortlyBeforeTheEndIsLeftOut) {
  OtherClock clock;
  clock.steps = {{kStart + kSecond, -kMillisecond * 10}};
  Traffic traffic(clock, 5);
  traffic.run(kStart, kStart + kSecond - kMillisecond, 500, {});
  traffic.run(kStart + kSecond, kStart + kSecond + kMillisecond, 5, {});
  const ClockMap map = align(traffic.crossings);
  const Outcome outcome = judge(traffic, map);
  EXPECT_EQ(outcome.beyond_bound, 0u) << outcome.worst_error_ns;
  EXPECT_GE(outcome.mapped, 900u);
}

TEST(Clock, WrongPairsDoNotDestroyTheEstimate) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic({.offset_ns = kSecond, .drift_ppm = 100}, seed);
    traffic.run(kStart, kStart + 3 * kSecond, 3000, {});
    const std::size_t right = traffic.crossings.size();
    std::vector<Crossing> all = traffic.crossings;
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> wrong(-100 * kMillisecond, 100 * kMillisecond);
    std::uint64_t impossible = 0;
    for (std::size_t i = 0; i < right; i += 50) {
      Crossing crossing = traffic.crossings[i];
      const std::int64_t by = wrong(random);
      // A pair that is wrong by less than a round trip is possible, and nobody can know better.
      if (std::abs(by) < 200 * kMicrosecond) continue;
      crossing.received_ns += by;
      if (by < 0) ++impossible;
      all.push_back(crossing);
    }
    std::shuffle(all.begin(), all.end(), random);
    const ClockMap map = align(all);
    EXPECT_GE(map.contradictions, impossible * 9 / 10);
    EXPECT_LE(map.contradictions, impossible + 4);
    EXPECT_EQ(map.jumps, 0u);
    const Outcome outcome = judge(traffic, map);
    EXPECT_EQ(outcome.mapped, right);
    EXPECT_EQ(outcome.beyond_bound, 0u) << outcome.worst_error_ns;
    EXPECT_EQ(outcome.early, 0u);
    EXPECT_LT(map.usual_bound_ns().value_or(kSecond), traffic.smallest_round_trip_ns * 6 / 10);
  }
}

TEST(Clock, OneDirectionGivesNoBound) {
  Traffic traffic({.offset_ns = kSecond}, 6);
  traffic.run(kStart, kStart + kSecond, 100, {});
  std::erase_if(traffic.crossings,
                [](const Crossing& crossing) { return crossing.from_reference; });
  const ClockMap map = align(traffic.crossings);
  ASSERT_EQ(map.stretches.size(), 1u);
  EXPECT_TRUE(map.stretches[0].one_way);
  EXPECT_FALSE(map.worst_bound_ns());
  const std::int64_t time = other_time(traffic.crossings[0]);
  EXPECT_FALSE(map.bound_at(time));
  ASSERT_TRUE(map.to_reference(time));
  EXPECT_NEAR(static_cast<double>(*map.to_reference(time) - time), kSecond, kMillisecond);
}

TEST(Clock, NothingIsKnownOfNothing) {
  const ClockMap map = align({});
  EXPECT_TRUE(map.stretches.empty());
  EXPECT_FALSE(map.to_reference(0));
  EXPECT_FALSE(map.bound_at(0));
  EXPECT_FALSE(map.worst_bound_ns());
}

TEST(Clock, LinesReachASecondBeyondTheCrossings) {
  Traffic traffic({.offset_ns = kSecond}, 7);
  traffic.run(kStart, kStart + kSecond, 100, {});
  const ClockMap map = align(traffic.crossings);
  const std::int64_t before = traffic.other(kStart - kSecond / 2);
  ASSERT_TRUE(map.to_reference(before));
  EXPECT_NEAR(static_cast<double>(*map.to_reference(before) - before), kSecond, kMillisecond);
  EXPECT_FALSE(map.bound_at(before));
  EXPECT_FALSE(map.to_reference(traffic.other(kStart - 3 * kSecond)));
}

TEST(Clock, AnyTimesAreBorne) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random(8);
  const std::int64_t edges[] = {kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost, kStart};
  const auto any_time = [&] {
    const auto bits = random();
    if (bits % 3 == 0) return edges[(bits >> 8) % std::size(edges)];
    if (bits % 3 == 1) return static_cast<std::int64_t>(random());
    return kStart + static_cast<std::int64_t>(random() % kMillisecond);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Crossing> crossings(random() % 200);
    for (Crossing& crossing : crossings) {
      crossing.sent_ns = any_time();
      crossing.received_ns = any_time();
      crossing.from_reference = random() % 2 == 0;
    }
    ClockOptions options;
    if (round % 3 == 1) options.stretch_ns = 0;
    if (round % 3 == 2) options.most_drift_ppm = 0;
    const ClockMap map = align(crossings, options);
    EXPECT_LE(map.contradictions, crossings.size());
    for (std::size_t i = 0; i < map.stretches.size(); ++i) {
      EXPECT_LE(map.stretches[i].from_ns, map.stretches[i].until_ns);
      if (i > 0) EXPECT_GT(map.stretches[i].from_ns, map.stretches[i - 1].until_ns);
      EXPECT_GE(map.stretches[i].bound_ns, 0);
    }
    for (const std::int64_t edge : edges) {
      static_cast<void>(map.to_reference(edge));
      static_cast<void>(map.bound_at(edge));
    }
    for (const Crossing& crossing : crossings) {
      static_cast<void>(map.to_reference(other_time(crossing)));
    }
  }
}

// Limits on a parabola are all corners of their hull, the worst for the fit.
TEST(Clock, ManyCornersAreBorne) {
  std::vector<Crossing> crossings;
  for (std::int64_t i = -50'000; i <= 50'000; ++i) {
    const std::int64_t at = i * 100'000, bend = i * i / 2000;
    crossings.push_back({at - bend - kMillisecond, at, true});
    crossings.push_back({at, at + bend + kMillisecond, false});
  }
  const ClockMap map = align(crossings);
  EXPECT_EQ(map.jumps, 0u);
  EXPECT_EQ(map.contradictions, 0u);
  ASSERT_TRUE(map.worst_bound_ns());
}

}  // namespace
}  // namespace rpcrdma::ends
