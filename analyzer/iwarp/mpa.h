// MPA's connection set-up: the Request and the Reply frame (RFC 5044 section 7.1, RFC 6581).
#pragma once

#include "tcp_segment.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rpcrdma::iwarp {

struct MpaFrame {
  bool reply = false;
  bool markers = false;  // its sender wants markers in what it receives
  bool crc = false;      // its sender wants CRCs
  bool reject = false;   // Reply
  std::uint8_t revision = 0;
  // Enhanced set-up (RFC 6581): how many RDMA Reads each side accepts and sends.
  bool enhanced = false;
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
  bool peer_to_peer = false;  // the initiator begins with a Ready-to-Receive message
  Bytes private_data;         // without the enhanced words
  std::size_t length = 0;     // of the frame, bytes
};

inline constexpr std::size_t kMpaKeyBytes = 16;
inline constexpr std::size_t kMaxMpaFrame = 20 + 512;

enum class MpaBegin : std::uint8_t { kNo, kMaybe, kRequest, kReply };
// What the first bytes of a stream begin; kMaybe: the key is not whole.
[[nodiscard]] MpaBegin mpa_begins(Bytes bytes);

// Empty if the frame is not whole yet, or too long.
[[nodiscard]] std::optional<MpaFrame> decode_mpa(Bytes bytes);
// Whether `bytes` states more private data than MPA allows.
[[nodiscard]] bool mpa_too_long(Bytes bytes);

}  // namespace rpcrdma::iwarp
