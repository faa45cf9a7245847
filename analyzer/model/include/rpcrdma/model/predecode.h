// Decodes what the bytes of a SEND show by themselves. This is much of the work on a message and
// can be done ahead of the model, in any thread.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::model {

// Points into the bytes that were decoded.
struct PredecodedSend {
  wire::Result<wire::HeaderView> header;
  wire::Result<wire::RpcView> rpc;             // of the bytes after the header
  std::uint64_t digest = 0;                    // Call::digest; 0 also if it is not a Call
  std::optional<decode::CompoundOps> ops;      // of a Call without Read chunks
  std::optional<std::uint64_t> results_asked;  // of such a Call
};

// `send`: all bytes of one SEND.
void predecode(wire::Bytes send, PredecodedSend& out);

// The single steps, for data that becomes known only later.
[[nodiscard]] std::uint64_t digest_of(wire::Bytes rpc_message);
// The readable part of arguments: the operations of a COMPOUND, and the bytes that the Call
// requests. `removed`, `padded_from`: as for decode::parse_compound_call().
struct CallArguments {
  decode::CompoundOps ops;
  std::optional<std::uint64_t> results_asked;
};
[[nodiscard]] CallArguments decode_arguments(const wire::RpcCall& call, wire::Bytes body,
                                             std::span<const decode::Removed> removed,
                                             std::uint32_t padded_from = decode::kNotPadded);

}  // namespace rpcrdma::model
