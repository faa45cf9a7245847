// Rebuilds the whole RPC message by inserting its chunks where they belong (RFC 8166 sections 3.4
// and 3.5).
#pragma once

#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Why the rebuilt bytes are not the RPC message that was sent.
enum class Incomplete : std::uint8_t {
  kNo,
  kNotSeen,      // parts of it were not captured
  kNoBytes,      // its source has no bytes of messages
  kNotMoved,     // parts of a chunk were not moved, as far as captured
  kNotKept,      // more was in flight than the model keeps
  kPadded,       // RDMA_MSGP
  kOtherParts,   // a part of it is in other SENDs
  kReplyReads,   // the Read chunks of a Reply (RFC 5666 sections 3.5 and 5.2) were not read yet
  kNoChunk,      // an RDMA_NOMSG, and no chunk for the message
  kTwoMessages,  // a Position Zero Read chunk, and a message after the header
  kPosition,     // a Read chunk lies in another, or outside the message
  kGap,          // in the Reply chunk or a Write chunk
  kOverrun,      // more was returned in a segment than its advertised length
  kNotReturned,  // a Write chunk was written but is not in the Reply's Write list
  kNoPlace,      // the place of a Write chunk's data is not known
};
// A clause for display: "padded by RDMA_MSGP, not rebuilt"; null for kNo. `connection`: the
// message's connection, if completeness of the capture is known.
[[nodiscard]] const char* incomplete_reason(Incomplete why,
                                            const roce::Connection* connection = nullptr);

// Judged by the headers alone: more captured data could not make the message whole. `call`: the
// Call that a Reply answers; null: unknown.
[[nodiscard]] Incomplete unfit_for_rebuild(const Message& m, const Call* call);

// The RPC message in its Send, without padding that was found. Needs a model that keeps bytes.
[[nodiscard]] std::vector<std::uint8_t> inline_message(const Message& m);

struct Rebuilt {
  std::vector<std::uint8_t> bytes;  // the RPC message as in a TCP record
  Incomplete incomplete = Incomplete::kNo;
  bool guessed = false;  // the place of a Write chunk was computed without a known binding

  [[nodiscard]] bool complete() const { return incomplete == Incomplete::kNo; }
};

// Needs a model that keeps bytes and chunks. `call` has ended, or its Read chunks have been read. A
// Reply with Read chunks is whole in Observer::on_reply_read().
[[nodiscard]] Rebuilt rebuild_call(const Call& call);
[[nodiscard]] Rebuilt rebuild_reply(const Call& call, const Message& reply);

// The input of upper-layer bindings: the reduced arguments after the RPC header, and where Read
// chunks removed data from them. Empty for a message with padding in it.
struct ReducedArguments {
  std::vector<std::uint8_t> arguments;
  std::vector<decode::Removed> removed;
};
[[nodiscard]] ReducedArguments reduced_arguments(const Call& call);

// Bytes of data in a chunk, without roundup that a peer counted in its lengths: from the count word
// in the RPC message if it can be found, otherwise from the segments.
[[nodiscard]] std::uint64_t read_payload_length(const Call& call, const CallChunk& chunk);
// `reply`: the answer to `call`. For a Reply chunk, returns the length of the RPC message in it.
[[nodiscard]] std::uint64_t result_payload_length(const Call& call, const CallChunk& chunk,
                                                  const Message& reply);

}  // namespace rpcrdma::model
