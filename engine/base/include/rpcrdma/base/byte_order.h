// Loads in the byte order of the machine that wrote a capture.
#pragma once

#include <cstdint>
#include <cstring>

namespace rpcrdma::base {

struct ByteOrder {
  bool swapped = false;  // the writer's byte order differs from ours

  [[nodiscard]] std::uint16_t u16(const std::uint8_t* p) const {
    std::uint16_t v;
    std::memcpy(&v, p, sizeof v);
    return swapped ? __builtin_bswap16(v) : v;
  }
  [[nodiscard]] std::uint32_t u32(const std::uint8_t* p) const {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return swapped ? __builtin_bswap32(v) : v;
  }
  [[nodiscard]] std::uint64_t u64(const std::uint8_t* p) const {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return swapped ? __builtin_bswap64(v) : v;
  }
};

}  // namespace rpcrdma::base
