// What crossings say about the offset of two clocks: limits from below and from above, each at a
// time of the other clock; and which of them belong together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rpcrdma::ends {

inline constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

// Times come from files: they add up to anything.
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kEarliest : kLatest;
}

inline std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? kEarliest : kLatest;
}

// Rounds to the nearest.
std::int64_t saturating_round(double value);

enum class Standing : std::uint8_t {
  kUsed,
  kContradicts,  // no clock explains it
  kWithheld,     // near a jump, or among too many that contradict each other
};

// The offset, reference minus other, is at least, or at most, `offset_ns` at `at_ns`.
struct OffsetLimit {
  std::int64_t at_ns = 0;  // by the other clock
  std::int64_t offset_ns = 0;
  bool at_least = false;
  Standing standing = Standing::kUsed;
};

// Consecutive limits that one clock without a jump explains, apart from those that are not used.
struct Regime {
  std::size_t begin = 0, end = 0;
};

struct Regimes {
  std::vector<Regime> regimes;
  std::uint64_t jumps = 0;
};

// `limits` are in order of time; sets the standing of each. `most_drift` is a ratio.
Regimes find_regimes(std::span<OffsetLimit> limits, double most_drift);

}  // namespace rpcrdma::ends
