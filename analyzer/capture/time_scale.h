// The ticks of a pcapng interface as nanoseconds (options if_tsresol and if_tsoffset).
#pragma once

#include <cstdint>

namespace rpcrdma::capture {

class TimeScale {
 public:
  // The largest distance from the epoch (146 years): durations between two such times fit 64 bits
  // too.
  static constexpr std::int64_t kMaxNs = (std::int64_t{1} << 62) - 1;
  static constexpr std::uint8_t kMicroseconds = 6;  // if_tsresol when the option is absent

  TimeScale() : TimeScale(kMicroseconds, 0) {}
  // `tsresol`: ticks are 10^-n seconds, or with the upper bit set 2^-n. `offset_seconds` is added.
  TimeScale(std::uint8_t tsresol, std::int64_t offset_seconds);

  // Nanoseconds since the epoch; out-of-range times are clamped.
  [[nodiscard]] std::int64_t to_ns(std::uint64_t ticks) const;

 private:
  enum class Unit : std::uint8_t { kMultiply, kDivide, kBinary };
  Unit unit_ = Unit::kMultiply;
  std::uint8_t shift_ = 0;    // kBinary
  std::uint64_t factor_ = 1;  // kMultiply, kDivide; 0 for a divisor over 2^64
  std::int64_t offset_ns_ = 0;
};

}  // namespace rpcrdma::capture
