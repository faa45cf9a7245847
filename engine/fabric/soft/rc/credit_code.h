// End-to-end credits in an ACK's syndrome: the number of posted Receives, encoded in five bits (IBA
// 9.7.7.2, table 46).
#pragma once

#include <array>
#include <cstdint>

namespace rpcrdma::soft {

inline constexpr std::uint8_t kNoCreditCount = 31;  // the responder does not count

inline constexpr std::array<std::uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// Returns the largest code that promises no more Receives than there are.
[[nodiscard]] constexpr std::uint8_t credit_code(std::uint64_t receives) {
  std::uint8_t code = 0;
  while (code + 1U < kCredits.size() && kCredits[code + 1U] <= receives) ++code;
  return code;
}

}  // namespace rpcrdma::soft
