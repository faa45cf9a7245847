// Endpoints of one user can share the RoCEv2 port of an address. Each has a number there, its
// share, which is part of its QPNs and communication IDs: they differ from those of the others, and
// every packet to one of them shows whose it is.
#pragma once

#include <cstdint>

namespace rpcrdma::soft {

inline constexpr unsigned kShareBits = 4;
inline constexpr std::uint32_t kShares = 1U << kShareBits;

// A QPN is a generation, the share, and an index.
inline constexpr unsigned kQpnIndexBits = 14;
inline constexpr unsigned kQpnGenerationBits = 24 - kShareBits - kQpnIndexBits;
[[nodiscard]] constexpr std::uint8_t share_of_qpn(std::uint32_t qpn) {
  return static_cast<std::uint8_t>(qpn >> kQpnIndexBits & (kShares - 1));
}

// A communication ID begins with the share.
inline constexpr unsigned kCmIdShareShift = 32 - kShareBits;
[[nodiscard]] constexpr std::uint8_t share_of_cm_id(std::uint32_t id) {
  return static_cast<std::uint8_t>(id >> kCmIdShareShift);
}

}  // namespace rpcrdma::soft
