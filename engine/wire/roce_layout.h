// The extension headers that follow the BTH, shared by decoder and encoder (IBA volume 1 sections
// 5.2 and 9.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::wire {

struct Extension {
  std::uint8_t flag;
  std::uint8_t bytes;
};

inline constexpr Extension kDethExtension{1 << 0, 8};
inline constexpr Extension kRethExtension{1 << 1, 16};
inline constexpr Extension kAtomicExtension{1 << 2, 28};
inline constexpr Extension kAethExtension{1 << 3, 4};
inline constexpr Extension kAtomicAckExtension{1 << 4, 8};
inline constexpr Extension kImmExtension{1 << 5, 4};
inline constexpr Extension kIethExtension{1 << 6, 4};

// In the order of their place in a packet.
inline constexpr std::array kExtensions = {
    kDethExtension,      kRethExtension, kAtomicExtension, kAethExtension,
    kAtomicAckExtension, kImmExtension,  kIethExtension,
};

struct RoceLayout {
  std::uint8_t extensions = 0;  // their flags
  std::uint8_t bytes = 0;       // BTH and extension headers

  [[nodiscard]] constexpr bool has(Extension extension) const {
    return (extensions & extension.flag) != 0;
  }
};

extern const std::array<RoceLayout, 256> kRoceLayouts;  // by opcode

}  // namespace rpcrdma::wire
