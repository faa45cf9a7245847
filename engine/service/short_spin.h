// Decides whether a loop polls for a short while before it sleeps, from whether that has paid off
// lately.
//
// To wake a thread costs both processors more than a few microseconds of polling. But if the peer
// runs on the same processor, or answers slowly, polling finds nothing. So each attempt that finds
// nothing, after another such one, doubles the number of sleeps until the next, and each that finds
// something halves it. After one that found nothing, or at first, an attempt takes less time: it
// delays what it delays by less, and a peer that runs beside us mostly answers within that time.
#pragma once

#include <algorithm>
#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::service {

class ShortSpin {
 public:
  // `longest`: how long an attempt may take; 0: there are none.
  explicit ShortSpin(fabric::Time longest) : longest_(longest) {}

  // Nothing is left to do, and there was something at `busy`: whether to poll on.
  [[nodiscard]] bool polls(fabric::Time busy, fabric::Time now) {
    if (!trying_) {
      if (longest_ == 0 || busy == tried_) return false;
      tried_ = busy;
      if (left_ > 0) {
        --left_;
        return false;
      }
      trying_ = true;
    }
    polled_ = now;
    if (now - busy < (failed_ ? longest_ / 5 * 2 : longest_)) return true;
    end(false);
    return false;
  }
  // There is something to do. If the processor did something else since the last look, that was
  // perhaps the peer, and sleeping would have been better.
  void found(fabric::Time now) {
    if (trying_) end(now - polled_ < kInterrupted);
  }

 private:
  void end(bool success) {
    trying_ = false;
    if (success) {
      interval_ /= 2;
    } else if (failed_) {
      interval_ = std::clamp<std::uint32_t>(2 * interval_, 1, kLongestInterval);
    }
    failed_ = !success;
    left_ = interval_;
  }

  static constexpr fabric::Time kInterrupted = 5 * fabric::kMicrosecond;
  // Attempts without success take less than a thousandth of the time of a loop that wakes every
  // 10 us, and the loop notices within a tenth of a second that they would succeed.
  static constexpr std::uint32_t kLongestInterval = 4096;

  const fabric::Time longest_;
  fabric::Time tried_ = -1;  // the activity after which it was last decided
  fabric::Time polled_ = 0;
  bool trying_ = false;
  bool failed_ = true;          // the last attempt, or there was none
  std::uint32_t interval_ = 8;  // sleeps between two attempts
  std::uint32_t left_ = 8;      // of them until the next
};

}  // namespace rpcrdma::service
