// Encoding of inline thresholds in private data, for both sides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <rpcrdma/service/connection_info.h>

namespace rpcrdma::service {

inline constexpr std::uint32_t kLeastThreshold = 1024;
inline constexpr std::uint32_t kMostThreshold = 256U << 10;

// In KiB steps, the unit of private data.
[[nodiscard]] inline bool is_threshold(std::uint32_t bytes) {
  return bytes >= kLeastThreshold && bytes <= kMostThreshold && bytes % 1024 == 0;
}

// `remote_invalidation`: this side accepts Remote Invalidation as a requester, and uses it as a
// responder.
[[nodiscard]] inline std::array<std::uint8_t, wire::kPrivateDataBytes> own_private_data(
    std::uint32_t threshold, bool remote_invalidation) {
  wire::PrivateData data;
  data.flags = remote_invalidation ? wire::kPrivateDataFlagR : 0;
  data.send_code = data.recv_code = wire::inline_size_code(threshold);
  return wire::encode_private_data(data);
}

}  // namespace rpcrdma::service
