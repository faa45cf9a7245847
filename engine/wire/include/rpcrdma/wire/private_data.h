// CM private data of RPC-over-RDMA version 1 (draft-cel-nfsv4-rpcrdma-cm-pvt-msg-00, RFC 8797).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

inline constexpr std::uint32_t kPrivateDataMagic = 0xf6ab0e18;
inline constexpr std::size_t kPrivateDataBytes = 8;
inline constexpr std::uint8_t kPrivateDataFlagR = 0x01;  // supports Send With Invalidate

struct PrivateData {
  std::uint8_t version = 1;
  std::uint8_t flags = 0;      // as sent; version 1 defines only the bit kPrivateDataFlagR
  std::uint8_t send_code = 0;  // bytes / 1024 - 1
  std::uint8_t recv_code = 0;

  [[nodiscard]] bool remote_invalidation() const { return (flags & kPrivateDataFlagR) != 0; }
  [[nodiscard]] std::uint32_t send_size() const { return (send_code + 1U) * 1024U; }  // bytes
  [[nodiscard]] std::uint32_t recv_size() const { return (recv_code + 1U) * 1024U; }  // bytes
};

// Errors: kTruncated under 8 bytes (CMP-02), kBadValue for another magic (CMP-01), kUnsupported for
// a version other than 1 (CMP-02). After any of them the defaults apply: 1024 bytes both ways, R
// clear.
[[nodiscard]] Result<PrivateData> decode_private_data(Bytes data);

[[nodiscard]] std::array<std::uint8_t, kPrivateDataBytes> encode_private_data(const PrivateData& d);

// Returns the size code for an inline threshold of `bytes`, rounded down to a multiple of 1024 and
// clamped to 1 KiB..256 KiB (CMP-04).
[[nodiscard]] std::uint8_t inline_size_code(std::uint32_t bytes);

}  // namespace rpcrdma::wire
