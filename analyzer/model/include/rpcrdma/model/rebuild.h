// The whole RPC message, its chunks put back where they belong (RFC 8166 sections 3.4 and 3.5).
#pragma once

#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

struct Rebuilt {
  std::vector<std::uint8_t> bytes;  // the RPC message as it would stand in a TCP record
  bool complete = false;            // nothing of it is missing in the capture
  bool guessed = false;  // where a Write chunk belongs was worked out without a known binding
};

// Needs a model that keeps bytes and chunks. `call` has ended, or its Read chunks have been read.
[[nodiscard]] Rebuilt rebuild_call(const Call& call);
[[nodiscard]] Rebuilt rebuild_reply(const Call& call, const Message& reply);

// What upper-layer bindings look at: the reduced arguments behind the RPC header, and where Read
// chunks took data out of them.
struct ReducedArguments {
  std::vector<std::uint8_t> arguments;
  std::vector<decode::Removed> removed;
};
[[nodiscard]] ReducedArguments reduced_arguments(const Call& call);

// Bytes of data in a chunk, without roundup that a peer counted in its lengths: by the count word
// in the RPC message where that can be found, else by the segments.
[[nodiscard]] std::uint64_t read_payload_length(const Call& call, const CallChunk& chunk);
// `reply`: the answer to `call`. For a Reply chunk: the length of the RPC message in it.
[[nodiscard]] std::uint64_t result_payload_length(const Call& call, const CallChunk& chunk,
                                                  const Message& reply);

}  // namespace rpcrdma::model
