// Encodes the headers of an outgoing packet.
#pragma once

#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

// `headers`: the BTH and the opcode's extension headers, without payload. The payload is already in
// `out`.
inline void put_headers(wire::RocePacket& headers, OutPacket& out) {
  headers.payload = {};
  out.pad_bytes = static_cast<std::uint8_t>(-out.payload_bytes & 3U);
  // Cannot fail: kMaxHeaderBytes fits the longest headers.
  out.header_bytes = static_cast<std::uint32_t>(wire::encode_roce(headers, out.header).value_or(0));
  constexpr std::size_t kPadByte = 1;  // of the BTH: SE, M, pad count (2 bits), TVer
  out.header[kPadByte] = static_cast<std::uint8_t>(out.header[kPadByte] | out.pad_bytes << 4U);
}

}  // namespace rpcrdma::soft
