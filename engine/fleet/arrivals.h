// Accounts for the arrivals of one agent's numbered summaries: which are lost, late or repeated,
// and how old each is. Constant memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace rpcrdma::fleet {

// Numbers 1, 2, 3 and so on, of which some do not arrive, or not in order.
class SequenceWindow {
 public:
  enum class Arrival : std::uint8_t { kNewest, kLate, kRepeated };

  // `expected`: the number that would arrive next if none were lost; nothing: not known, since the
  // first numbers were sent before anyone looked.
  explicit SequenceWindow(std::optional<std::uint64_t> expected = std::nullopt) {
    if (expected && *expected > 0) begin(*expected - 1, 0);
  }

  Arrival take(std::uint64_t number) {
    if (!begun_) {
      begin(number, 1);
      return Arrival::kNewest;
    }
    if (number > latest_) {
      const std::uint64_t ahead = number - latest_;
      lost_ += std::min(ahead - 1, kMostLost - std::min(lost_, kMostLost));
      seen_ = ahead >= kWidth ? 0 : seen_ << ahead;
      seen_ |= 1;
      latest_ = number;
      return Arrival::kNewest;
    }
    const std::uint64_t behind = latest_ - number;
    // Too long ago to know whether it has been here.
    if (behind >= kWidth) return Arrival::kLate;
    const std::uint64_t bit = std::uint64_t{1} << behind;
    if ((seen_ & bit) != 0) return Arrival::kRepeated;
    seen_ |= bit;
    if (number >= first_ && lost_ > 0) --lost_;  // late, not lost
    return Arrival::kLate;
  }

  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t latest() const { return latest_; }

 private:
  static constexpr std::uint64_t kWidth = 64;
  // A forged number must not overflow sums of these.
  static constexpr std::uint64_t kMostLost = 1'000'000'000;

  void begin(std::uint64_t latest, std::uint64_t seen) {
    begun_ = true;
    latest_ = latest;
    seen_ = seen;
    first_ = seen != 0 ? latest : latest + 1;
  }

  bool begun_ = false;
  std::uint64_t first_ = 0;  // numbers below it do not count as lost
  std::uint64_t latest_ = 0;
  std::uint64_t seen_ = 0;  // bit n: latest_ - n has arrived
  std::uint64_t lost_ = 0;
};

// How much longer than the quickest of the last minutes a message took. The clocks of sender and
// receiver need not agree: only differences count. A clock that drifts is followed.
class Delay {
 public:
  // Returns the excess of this message, in ns. Both times are of monotonic clocks.
  std::int64_t add(std::int64_t sent_ns, std::int64_t arrived_ns) {
    const std::int64_t took = arrived_ns - sent_ns;
    if (arrived_ns >= next_) {
      before_ = now_;
      now_ = kNone;
      next_ = arrived_ns + kInterval;
    }
    now_ = std::min(now_, took);
    return took - std::min(now_, before_);
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kInterval = 120'000'000'000;

  std::int64_t before_ = kNone, now_ = kNone;  // the least in the last interval and in this one
  std::int64_t next_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace rpcrdma::fleet
