// Random numbers that are the same on every machine for the same seed: SplitMix64 (Steele, Lea and
// Flood, "Fast Splittable Pseudorandom Number Generators", 2014). The standard library's
// distributions are not, so this file has its own. Not for secrets.
#pragma once

#include <cstdint>

namespace rpcrdma::soft {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Returns 0 up to, not including, `bound`, which must not be 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // Returns true with this probability: never for 0, always for 1. The product of 53 bits and a
  // power of two is exact, so rounding does not matter.
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace rpcrdma::soft
