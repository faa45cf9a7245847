// Where Read chunks took data out of a Call's arguments.
#pragma once

#include <vector>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Positions count in the unreduced RPC message; what upper-layer parsers want are offsets in the
// reduced arguments, behind an RPC header of `rpc_length` bytes.
[[nodiscard]] std::vector<decode::Removed> removed_by_reads(const Call& call,
                                                            std::uint32_t rpc_length);

// Sets CallChunk::count of its Read chunks. `rpc_message` is reduced.
void note_counts(Call& call, wire::Bytes rpc_message);

}  // namespace rpcrdma::model
