// Puts the pieces of an RPC message behind each other, as one XDR stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/padding.h>

namespace rpcrdma::protocol {

// Copies all but the pieces of `apart` to `out`, where there is room for them, with roundups and
// padding, and the XID into the first word. Returns its length, bytes.
std::size_t write_stream(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint32_t xid, std::uint8_t* out, const Padding& padding = {});

// Bytes of padding that it adds.
[[nodiscard]] std::uint64_t padding_bytes(std::span<const Piece> message,
                                          const std::array<bool, kMaxPieces>& apart,
                                          const Padding& padding);

// The reader pads each counted opaque that is long enough, and which those are within a piece that
// is not DDP-eligible only its upper layer knows: where one could be, there may be no padding.
[[nodiscard]] bool may_be_padded(std::span<const Piece> message, const Padding& padding);

}  // namespace rpcrdma::protocol
