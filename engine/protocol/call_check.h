// Validates a received header before the responder acts on it: the header's rules (RFC 8166
// sections 3.4, 3.5, 4.2 to 4.5) and the responder's own limits. Before that nothing but the
// description is allocated, for as many segments as are accepted, and no value from the peer is
// used as a length or an index.
#pragma once

#include "read_list_check.h"

#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

// A Call that may be served. Its segments: Read list, Write list, Reply chunk.
struct CheckedCall : CheckedReads {
  CheckedCall() {}  // not "= default": see wire::HeaderView

  void shrink() {
    CheckedReads::shrink();
    if (writes.capacity() > kMaxSegments) std::vector<ChunkRange>().swap(writes);
  }

  std::uint32_t version = kVersionOne;
  std::uint32_t xid = 0;
  std::uint32_t credit = 0;      // credit request
  std::uint32_t inv_handle = 0;  // version 2: the handle that the Reply may invalidate; 0: none
  std::vector<ChunkRange> writes;
  ChunkRange reply;
  Offer offer;  // lengths of `writes` and `reply`, and their number
};

enum class CallAnswer : std::uint8_t {
  kServe,
  kDone,          // RDMA_DONE, RFC 5666 only
  kIgnore,        // not a Call: errors are not answered with errors (ERR-06)
  kErrorVersion,  // RDMA_ERROR, ERR_VERS, with the supported versions
  kErrorChunk,    // RDMA_ERROR, ERR_CHUNK; version 2: RDMA2_ERR_BAD_XDR
  // Version 2 only.
  kOption,       // RDMA2_OPTIONAL; the Call has no chunks
  kErrorProc,    // RDMA2_ERR_INVAL_PROC
  kErrorOption,  // RDMA2_ERR_INVAL_OPTION
  kCantReply,    // RDMA2_ERR_CANT_REPLY
};

struct CallVerdict {
  CallAnswer answer = CallAnswer::kServe;
  std::uint32_t xid = 0;    // of the RDMA_ERROR (ERR-01)
  const char* rule = "";    // ID of the violated rule; empty for a limit of this responder
  const char* reason = "";  // one clause for display
  std::uint32_t version = kVersionOne;  // of the Call, and so of the RDMA_ERROR
};

// `message` is the content of a Send, and `header` the result of decode_header(). Use `call` only
// if the answer is kServe; its payload then points into `message`.
[[nodiscard]] CallVerdict check_call(wire::Bytes message,
                                     const wire::Result<wire::HeaderView>& header,
                                     const Versions& versions, const ResponderOptions& options,
                                     CheckedCall& call);

// Checks whether a stream can be that of the Call: it begins with the Call's XID and the word CALL
// (HDR-02). check_call() has already checked an RDMA_MSG; a Position Zero Read chunk must be pulled
// first.
[[nodiscard]] CallVerdict check_stream(wire::Bytes stream, std::uint32_t xid,
                                       std::uint32_t version);

}  // namespace rpcrdma::protocol
