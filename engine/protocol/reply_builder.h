// Builds the messages for a Call: the Send of its Reply, with chunk lists that report what was
// written, and the Writes before it; or the Send of an RDMA_ERROR.
#pragma once

#include "done_table.h"
#include "link.h"
#include "served_call.h"

#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {

// Parameters of a Reply apart from its message.
struct ReplyTerms {
  std::uint32_t grant = 1;
  // RFC 5666 section 3.7: the lengths of Write chunks count roundup.
  bool counts_roundup = false;
  // Advertises the parts to be read, as entry `served.reads`; null: no part is to be read.
  DoneTable* advertiser = nullptr;
  Padding padding{};  // of an RDMA_MSGP
};

// Errors: the pool's; the connection's, after which advertised memory must be invalidated.
[[nodiscard]] fabric::Expected<void> build_reply(Link& link, const ReplyPlan& plan,
                                                 std::span<const Piece> message,
                                                 const ReplyTerms& terms, ServedCall& served);
// `error`: the complete header, including xid and credit.
[[nodiscard]] fabric::Expected<void> build_error(MemoryPool& pool, wire::Header error,
                                                 ServedCall& served);
// The answer to an RDMA2_OPTIONAL message, with `served.option` as its content, followed by the
// pieces. `is_rpc`: they are a Reply, whose first word is the XID.
[[nodiscard]] fabric::Expected<void> build_option_reply(MemoryPool& pool,
                                                        std::span<const Piece> message, bool is_rpc,
                                                        std::uint32_t grant, ServedCall& served);
// Bytes that build_reply() has placed in Write chunks.
[[nodiscard]] std::uint64_t write_chunk_bytes(const ReplyPlan& plan,
                                              std::span<const Piece> message);

}  // namespace rpcrdma::protocol
