// Decides how long a hub's thread sleeps between two polls of the rings: longer while they stay
// nearly empty, shorter the fuller they get, not at all if one is a quarter full.
#pragma once

#include "clock.h"

#include <algorithm>
#include <cstdint>

namespace rpcrdma::trace {

// Period of the hub's housekeeping, and how long it waits at its end until its readers have read
// everything.
inline constexpr std::int64_t kTick = kSecond;
inline constexpr std::int64_t kLastWait = 250 * kMillisecond;

class PollInterval {
 public:
  static constexpr std::int64_t kShortest = 200 * kMicrosecond;
  static constexpr std::int64_t kLongest = 2 * kMillisecond;
  static constexpr std::int64_t kNobodyReads = 200 * kMillisecond;

  // `fullest`: fill level of the fullest ring, 0 to 1.
  std::int64_t next(double fullest) {
    constexpr double kAtOnce = 1.0 / 4, kSooner = 1.0 / 16, kLater = 1.0 / 64;
    if (fullest >= kSooner) sleep_ = std::max(kShortest, sleep_ / 2);
    if (fullest < kLater) sleep_ = std::min(kLongest, sleep_ * 2);
    return fullest >= kAtOnce ? 0 : sleep_;
  }

 private:
  std::int64_t sleep_ = kShortest;
};

}  // namespace rpcrdma::trace
