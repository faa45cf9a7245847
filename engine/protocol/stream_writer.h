// Joins the pieces of an RPC message to one XDR stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/padding.h>

namespace rpcrdma::protocol {

// Copies all but the pieces of `apart` to `out`, which has room for them, with roundups and
// padding. Returns the length in bytes.
std::size_t write_pieces(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint8_t* out, const Padding& padding = {});

// The same for an RPC message, whose first word is the XID.
std::size_t write_stream(std::span<const Piece> message, const std::array<bool, kMaxPieces>& apart,
                         std::uint32_t xid, std::uint8_t* out, const Padding& padding = {});

// Bytes of padding that it adds.
[[nodiscard]] std::uint64_t padding_bytes(std::span<const Piece> message,
                                          const std::array<bool, kMaxPieces>& apart,
                                          const Padding& padding);

// Returns whether the message may be padded. The reader pads each counted opaque that is long
// enough, but only the upper layer knows the opaques within a piece that is not DDP-eligible. If
// there could be one, padding is not allowed.
[[nodiscard]] bool may_be_padded(std::span<const Piece> message, const Padding& padding);

}  // namespace rpcrdma::protocol
