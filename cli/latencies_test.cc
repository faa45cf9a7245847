#include "latencies.h"

#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

TEST(Latencies, TheMedianOfFewIsOneOfThem) {
  Latencies l;
  EXPECT_EQ(l.median(), 0);
  for (const int us : {13'100, 354, 508}) l.add(us * 1000);
  EXPECT_EQ(l.median(), 508'000);
  EXPECT_EQ(l.min(), 354'000);
  EXPECT_EQ(l.max(), 13'100'000);
}

TEST(Latencies, OfAnEvenNumberItIsBetweenTwo) {
  Latencies l;
  for (const int ns : {40, 10, 20, 30}) l.add(ns);
  EXPECT_EQ(l.median(), 25);
}

TEST(Latencies, OfVeryManyItIsTheHistograms) {
  Latencies l;
  for (std::size_t i = 0; i < 2 * Latencies::kFew; ++i) l.add(1'000'000);
  for (std::size_t i = 0; i < 2 * Latencies::kFew; ++i) l.add(2'000'000);
  EXPECT_NEAR(static_cast<double>(l.median()), 1e6, 16'000);
}

}  // namespace
}  // namespace rpcrdma::cli
