// Fields of a Reliable Connected packet: PSNs, partition keys and credit codes; and the encoding of
// its headers.
#pragma once

#include <array>
#include <cstdint>

#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

// Packet sequence numbers: 24 bits, compared within half of their range (IBA 9.7.2).
[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & wire::kPsnMask;
}

// Returns a - b, between -2^23 and 2^23 - 1.
[[nodiscard]] constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

// Only the default partition. Every connection here is a full member, so the peer may be a limited
// one (IBA 10.9.3).
constexpr bool of_our_partition(std::uint16_t pkey) {
  return (pkey & 0x7fffU) == 0x7fffU;
}

// End-to-end credits in an ACK's syndrome: the number of posted Receives, encoded in five bits (IBA
// 9.7.7.2, table 46).
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

// Encodes the headers of an outgoing packet. `headers`: the BTH and the opcode's extension headers,
// without payload. The payload is already in `out`.
inline void put_headers(wire::RocePacket& headers, OutPacket& out) {
  headers.payload = {};
  out.pad_bytes = static_cast<std::uint8_t>(-out.payload_bytes & 3U);
  // Cannot fail: kMaxHeaderBytes fits the longest headers.
  out.header_bytes = static_cast<std::uint32_t>(wire::encode_roce(headers, out.header).value_or(0));
  constexpr std::size_t kPadByte = 1;  // of the BTH: SE, M, pad count (2 bits), TVer
  out.header[kPadByte] = static_cast<std::uint8_t>(out.header[kPadByte] | out.pad_bytes << 4U);
}

}  // namespace rpcrdma::soft
