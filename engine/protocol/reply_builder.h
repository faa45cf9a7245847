// Makes what goes out for a Call: the Send of its Reply, with the chunk lists that say what was
// written, and the Writes that come before it; or the Send of an RDMA_ERROR.
#pragma once

#include "link.h"
#include "serving.h"

#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {

// Error: the pool's. `grant`: credits.
[[nodiscard]] fabric::Expected<void> build_reply(MemoryPool& pool, const ReplyPlan& plan,
                                                 std::span<const Piece> message,
                                                 std::uint32_t grant, Serving& serving);
// `error`: with what it says; xid and credit are in it, too.
[[nodiscard]] fabric::Expected<void> build_error(MemoryPool& pool, wire::Header error,
                                                 Serving& serving);
// The answer to an RDMA2_OPTIONAL message.
[[nodiscard]] fabric::Expected<void> build_option_reply(MemoryPool& pool, std::uint32_t type,
                                                        wire::Bytes info, std::uint32_t grant,
                                                        Serving& serving);
// Bytes that build_reply() has put into Write chunks.
[[nodiscard]] std::uint64_t write_chunk_bytes(const ReplyPlan& plan,
                                              std::span<const Piece> message);

}  // namespace rpcrdma::protocol
