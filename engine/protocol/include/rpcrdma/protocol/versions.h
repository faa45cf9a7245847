// Which versions of RPC-over-RDMA an endpoint speaks, and which of them two have in common
// (draft-cel-nfsv4-rpcrdma-version-two-02 section 6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rpcrdma::protocol {

inline constexpr std::uint32_t kVersionOne = 1;  // RFC 8166
inline constexpr std::uint32_t kVersionTwo = 2;  // draft-cel-nfsv4-rpcrdma-version-two-02
// What every receiver of version 2 takes (section 2.3 there), bytes.
inline constexpr std::uint32_t kVersionTwoThreshold = 4096;
// The first message of version 2 on a connection is no longer, since its receiver may speak version
// 1 alone (section 6 there), bytes.
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

// The highest that both have; a range of a peer's may be nonsense.
[[nodiscard]] constexpr std::optional<std::uint32_t> highest_common(const Versions& a,
                                                                    const Versions& b) {
  const std::uint32_t high = std::min(a.high, b.high);
  if (high < std::max(a.low, b.low)) return std::nullopt;
  return high;
}

}  // namespace rpcrdma::protocol
