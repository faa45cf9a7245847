// Finds roundup bytes that are not zero: XDR fills items up to a multiple of 4 bytes with zeros
// (RFC 4506 section 3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {

// Returns whether bytes that round up `length` bytes from `offset` on are in the stream and not
// zero.
[[nodiscard]] bool has_nonzero_roundup(wire::Bytes stream, std::size_t offset,
                                       std::uint64_t length);

// What chunks removed from a stream: of a Call, see parse_compound_call(); of a Reply, see
// find_result_items().
struct InChunks {
  std::span<const Removed> reads;
  std::span<const std::uint64_t> writes;
};

// Returns the offset of the first counted opaque in the arguments or results of an NFS procedure
// whose roundup is in the stream and not zero. The whole stream must be given. Nothing is found if
// the stream cannot be parsed to its end, or in other programs.
[[nodiscard]] std::optional<std::size_t> find_nonzero_roundup(const ProcedureId& id,
                                                              wire::MsgType part,
                                                              wire::Bytes stream,
                                                              const InChunks& in_chunks = {});

}  // namespace rpcrdma::decode
