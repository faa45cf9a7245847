// The versions of RPC-over-RDMA that an endpoint supports, and the highest that two endpoints have
// in common (draft-cel-nfsv4-rpcrdma-version-two-02 section 6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rpcrdma::protocol {

inline constexpr std::uint32_t kVersionOne = 1;  // RFC 8166
inline constexpr std::uint32_t kVersionTwo = 2;  // draft-cel-nfsv4-rpcrdma-version-two-02
// Bytes that every receiver of version 2 accepts (section 2.3 of the draft).
inline constexpr std::uint32_t kVersionTwoThreshold = 4096;
// Maximum bytes of the first message of version 2 on a connection, since its receiver may support
// version 1 only (section 6 of the draft).
inline constexpr std::uint32_t kFirstMessageThreshold = 1024;

// From `low` to `high`, which is at least `low`.
struct Versions {
  std::uint32_t low = kVersionOne;
  std::uint32_t high = kVersionOne;

  [[nodiscard]] constexpr bool contains(std::uint32_t version) const {
    return low <= version && version <= high;
  }
  friend bool operator==(const Versions&, const Versions&) = default;
};

// The highest version in both ranges; the peer's range may be invalid.
[[nodiscard]] constexpr std::optional<std::uint32_t> highest_common(const Versions& a,
                                                                    const Versions& b) {
  const std::uint32_t high = std::min(a.high, b.high);
  if (high < std::max(a.low, b.low)) return std::nullopt;
  return high;
}

}  // namespace rpcrdma::protocol
