// The whole RPC message, its chunks put back where they belong (RFC 8166 sections 3.4 and 3.5).
#pragma once

#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Why what can be put together is not the RPC message that was sent.
enum class Incomplete : std::uint8_t {
  kNo,
  kNotSeen,      // not all of it was captured
  kNotMoved,     // not all of a chunk was moved, as far as that was captured
  kNotKept,      // more was outstanding than the model keeps
  kPadded,       // RDMA_MSGP
  kOtherParts,   // a part of it is in other SENDs
  kReplyReads,   // a Reply with Read chunks (RFC 5666 sections 3.5 and 5.2)
  kNoChunk,      // an RDMA_NOMSG, and no chunk for the message
  kTwoMessages,  // a Position Zero Read chunk, and a message behind the header
  kPosition,     // a Read chunk lies in another, or outside the message
  kGap,          // in the Reply chunk or a Write chunk
  kOverrun,      // more was returned in a segment than it was offered for
  kNotReturned,  // a Write chunk was written, and is not in the Reply's Write list
  kNoPlace,      // where the data of a Write chunk belongs is not known
};
// A clause for a person: "padded by RDMA_MSGP, not rebuilt"; null for kNo. `connection`: the
// message's, where it is known whether the capture has all of its packets.
[[nodiscard]] const char* incomplete_reason(Incomplete why,
                                            const roce::Connection* connection = nullptr);

// By the headers alone: no data that the capture has more could make the message whole.
// `call`: the Call that a Reply answers; null: not known.
[[nodiscard]] Incomplete unfit_for_rebuild(const Message& m, const Call* call);

struct Rebuilt {
  std::vector<std::uint8_t> bytes;  // the RPC message as it would stand in a TCP record
  Incomplete incomplete = Incomplete::kNo;
  bool guessed = false;  // where a Write chunk belongs was worked out without a known binding

  [[nodiscard]] bool complete() const { return incomplete == Incomplete::kNo; }
};

// Needs a model that keeps bytes and chunks. `call` has ended, or its Read chunks have been read.
[[nodiscard]] Rebuilt rebuild_call(const Call& call);
[[nodiscard]] Rebuilt rebuild_reply(const Call& call, const Message& reply);

// What upper-layer bindings look at: the reduced arguments behind the RPC header, and where Read
// chunks took data out of them. Nothing of a message with padding in it.
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
