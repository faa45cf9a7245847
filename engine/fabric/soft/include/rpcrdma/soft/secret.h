// Numbers that a peer must not be able to guess: communication IDs, QPNs and PSNs. A peer sees many
// of them, so they come from a keyed function, SipHash-2-4 (Aumasson and Bernstein, "SipHash: a
// fast short-input PRF", 2012), and not from a generator whose state follows from its output.
#pragma once

#include <bit>
#include <cstdint>

#include <rpcrdma/soft/random.h>

namespace rpcrdma::soft {

// What a secret's numbers are for.
inline constexpr std::uint64_t kForCommunicationIds = 1, kForTransactions = 2, kForQpns = 3,
                               kForPsns = 4;

struct Secret {
  std::uint64_t first = 0, second = 0;

  Secret(std::uint64_t one, std::uint64_t two) : first(one), second(two) {}
  // The same secret for the same seed: for simulations.
  Secret(std::uint64_t seed) : first(Random(seed).next()), second(Random(~seed).next()) {}

  // The system's random numbers.
  [[nodiscard]] static Secret of_system();

  // Returns the hash of two words.
  [[nodiscard]] std::uint64_t hash(std::uint64_t purpose, std::uint64_t value) const {
    std::uint64_t v0 = first ^ 0x736f6d6570736575, v1 = second ^ 0x646f72616e646f6d,
                  v2 = first ^ 0x6c7967656e657261, v3 = second ^ 0x7465646279746573;
    const auto rounds = [&](int count) {
      for (; count > 0; --count) {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
      }
    };
    constexpr std::uint64_t kLength = std::uint64_t{16} << 56;  // bytes of the input
    for (const std::uint64_t word : {purpose, value, kLength}) {
      v3 ^= word;
      rounds(2);
      v0 ^= word;
    }
    v2 ^= 0xff;
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

// A permutation of the numbers of 2 * `half_bits` bits (a Feistel network): as a counter runs, no
// number comes twice before all others came.
class SecretPermutation {
 public:
  SecretPermutation(const Secret& secret, std::uint64_t purpose, unsigned half_bits)
      : secret_(secret), purpose_(purpose), half_bits_(half_bits) {}

  [[nodiscard]] std::uint32_t operator()(std::uint32_t value) const {
    const std::uint32_t mask = (1U << half_bits_) - 1;
    std::uint32_t left = value >> half_bits_ & mask, right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint32_t mixed =
          static_cast<std::uint32_t>(secret_.hash(purpose_, round << 32 | right)) & mask;
      const std::uint32_t next = left ^ mixed;
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

 private:
  static constexpr std::uint64_t kRounds = 10;  // as FF1 has for small domains (NIST SP 800-38G)
  Secret secret_;
  std::uint64_t purpose_;
  unsigned half_bits_;
};

}  // namespace rpcrdma::soft
