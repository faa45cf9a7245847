// Puts the pieces of an RPC message behind each other, as one XDR stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rpcrdma/protocol/message.h>

namespace rpcrdma::protocol {

// Copies all but the pieces of `apart` to `out`, where there is room for them, with roundups, and
// the XID into the first word. Returns its length, bytes.
std::size_t write_stream(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint32_t xid, std::uint8_t* out);

}  // namespace rpcrdma::protocol
