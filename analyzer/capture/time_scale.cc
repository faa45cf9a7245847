#include "time_scale.h"

#include <algorithm>

namespace rpcrdma::capture {
namespace {

constexpr std::int64_t kMax = TimeScale::kMaxNs;
constexpr unsigned kNanoseconds = 9;
constexpr unsigned kMaxPower = 19;  // of ten, in 64 bits
constexpr std::uint8_t kBinaryBit = 0x80;

std::uint64_t power_of_ten(unsigned n) {
  std::uint64_t v = 1;
  while (n-- != 0) v *= 10;
  return v;
}

}  // namespace

TimeScale::TimeScale(std::uint8_t tsresol, std::int64_t offset_seconds) {
  const std::uint8_t n = tsresol & 0x7f;
  if ((tsresol & kBinaryBit) != 0) {
    unit_ = Unit::kBinary;
    shift_ = n;
  } else if (n <= kNanoseconds) {
    factor_ = power_of_ten(kNanoseconds - n);
  } else {
    unit_ = Unit::kDivide;
    factor_ = n - kNanoseconds <= kMaxPower ? power_of_ten(n - kNanoseconds) : 0;
  }
  if (__builtin_mul_overflow(offset_seconds, std::int64_t{1'000'000'000}, &offset_ns_)) {
    offset_ns_ = offset_seconds < 0 ? -kMax : kMax;
  }
  offset_ns_ = std::clamp(offset_ns_, -kMax, kMax);
}

std::int64_t TimeScale::to_ns(std::uint64_t ticks) const {
  std::int64_t ns = 0;
  switch (unit_) {
    case Unit::kMultiply:
      if (__builtin_mul_overflow(ticks, factor_, &ns)) ns = kMax;
      break;
    case Unit::kDivide:
      if (factor_ != 0 && __builtin_add_overflow(ticks / factor_, 0, &ns)) ns = kMax;
      break;
    case Unit::kBinary: {
      const auto wide = static_cast<unsigned __int128>(ticks) * 1'000'000'000u >> shift_;
      ns = wide > static_cast<unsigned __int128>(kMax) ? kMax : static_cast<std::int64_t>(wide);
      break;
    }
  }
  return std::clamp(std::min(ns, kMax) + offset_ns_, -kMax, kMax);
}

}  // namespace rpcrdma::capture
