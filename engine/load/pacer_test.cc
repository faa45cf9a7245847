#include <gtest/gtest.h>

#include <rpcrdma/load/pacer.h>

namespace rpcrdma::load {
namespace {

using fabric::kMillisecond;
using fabric::kNever;
using fabric::kSecond;
using fabric::Time;

TEST(Pacer, WithoutARateACallIsDueAtOnce) {
  Pacer p({.count = 2});
  p.begin(100);
  EXPECT_EQ(p.due(100), 100);
  p.took();
  EXPECT_EQ(p.due(500), 500);
  p.took();
  EXPECT_EQ(p.due(501), kNever);
  EXPECT_EQ(p.missed(), 0U);
}

TEST(Pacer, ACallThatIsLateWasDueWhenItWasDue) {
  Pacer p({.rate = 1000});
  p.begin(7);
  for (int i = 0; i < 5; ++i) {
    // The caller was delayed by a second: the Calls due meanwhile are still to be made, each with
    // its own due time.
    EXPECT_EQ(p.due(7 + kSecond), 7 + i * kMillisecond);
    p.took();
  }
}

TEST(Pacer, NoErrorAddsUp) {
  Pacer p({.rate = 3});
  p.begin(0);
  for (int i = 0; i < 3'000'000; ++i) p.took();
  EXPECT_EQ(p.due(0), 1'000'000 * kSecond);
}

TEST(Pacer, ThreadsShareTheRateEvenly) {
  Pacer first({.rate = 1000, .count = 5, .thread = 0, .threads = 2});
  Pacer second({.rate = 1000, .count = 5, .thread = 1, .threads = 2});
  first.begin(0);
  second.begin(0);
  EXPECT_EQ(first.due(0), 0);
  EXPECT_EQ(second.due(0), kMillisecond);
  first.took();
  second.took();
  EXPECT_EQ(first.due(0), 2 * kMillisecond);
  EXPECT_EQ(second.due(0), 3 * kMillisecond);
  first.took();
  second.took();
  EXPECT_EQ(second.due(0), kNever);  // 3 and 2
  EXPECT_EQ(first.due(0), 4 * kMillisecond);
}

TEST(Pacer, EndsAfterItsDurationAndShowsWhatItMissed) {
  Pacer p({.rate = 100, .duration = kSecond});
  p.begin(50);
  p.took();
  p.took();
  EXPECT_EQ(p.due(50), 50 + 20 * kMillisecond);
  EXPECT_EQ(p.due(50 + kSecond), kNever);
  EXPECT_EQ(p.missed(), 98U);
  Pacer closed({.duration = kSecond});
  closed.begin(0);
  EXPECT_EQ(closed.due(kSecond - 1), kSecond - 1);
  EXPECT_EQ(closed.due(kSecond), kNever);
  EXPECT_EQ(closed.missed(), 0U);
}

TEST(Pacer, MissesNoMoreThanItsCount) {
  Pacer p({.rate = 100, .count = 10, .duration = kSecond});
  p.begin(0);
  p.took();
  EXPECT_EQ(p.missed(), 9U);
}

TEST(Pacer, PlansTheTimeThatItsCallsFill) {
  const auto planned = [](const PacerOptions& options, Time now) {
    Pacer p(options);
    p.begin(now);
    return p.planned();
  };
  EXPECT_EQ(planned({.rate = 0.5, .duration = 4 * kSecond}, 9), 4 * kSecond);
  EXPECT_EQ(planned({.rate = 2, .count = 6}, 9), 3 * kSecond);
  EXPECT_EQ(planned({.rate = 2, .count = 60, .duration = kSecond}, 9), kSecond);
  EXPECT_EQ(planned({.rate = 2, .count = 1, .duration = kSecond}, 9), kSecond / 2);
  EXPECT_EQ(planned({.count = 1, .duration = kSecond}, 9), 0);
  EXPECT_EQ(planned({.rate = 2}, 9), 0);
  EXPECT_EQ(planned({.rate = 1e-9, .count = UINT64_MAX}, 9), 0);
}

TEST(Pacer, StopsWhenItIsEmitted) {
  Pacer p({.rate = 100});
  p.begin(0);
  EXPECT_EQ(p.missed(), 0U);
  p.took();
  p.stop(25 * kMillisecond);
  EXPECT_EQ(p.due(25 * kMillisecond), kNever);
  EXPECT_EQ(p.missed(), 2U);
}

TEST(Pacer, AVerySlowRateDoesNotOverflow) {
  Pacer p({.rate = 1e-12});
  p.begin(1);
  EXPECT_EQ(p.due(1), 1);
  p.took();
  EXPECT_EQ(p.due(1), kNever);
}

}  // namespace
}  // namespace rpcrdma::load
