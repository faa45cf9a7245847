// Validates a Reply (RFC 8166 sections 3.4.6, 4.3): it must be the answer to its Call, and its
// chunk lists must be those that the Call offered, with possible lengths.
#pragma once

#include "received.h"

#include <array>
#include <cstdint>
#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/versions.h>

namespace rpcrdma::protocol {

// The chunks that a Call offered for its Reply.
struct OfferedChunks {
  std::uint32_t version = kVersionOne;      // of the Call
  std::uint32_t inv_handle = 0;             // rdma_inv_handle of the Call
  std::span<const wire::Segment> segments;  // of the Write chunks in order, then the Reply chunk
  std::array<std::uint32_t, kMaxResults> write_segments{};
  std::uint32_t write_chunks = 0;
  std::uint32_t reply_segments = 0;            // 0: no Reply chunk
  const std::uint8_t* reply_memory = nullptr;  // of the Reply chunk
  // RFC 5666: the Reply may have padding, or a Read list, whose content the caller reads.
  bool rfc5666 = false;
};

struct CheckedReply {
  const char* reason = "";  // why it is invalid; empty: it is valid
  wire::Bytes stream;
  Padding padding{};       // of the stream
  bool has_reads = false;  // a Read list, which has not been checked
  std::array<std::uint32_t, kMaxResults> result_bytes{};
  wire::Bytes payload;  // of an option's answer, whose rdma_optinfo is `stream`

  [[nodiscard]] bool ok() const { return *reason == 0; }
};

// The answer to an RDMA2_OPTIONAL message: its rdma_optinfo is the stream.
[[nodiscard]] CheckedReply check_option_reply(const Received& message, std::uint32_t type);

// Checks a message with the Call's XID that is not an RDMA_ERROR.
[[nodiscard]] CheckedReply check_reply(const Received& message, std::uint32_t xid,
                                       const OfferedChunks& offered);

// Returns why the stream cannot be that of a Reply; empty: it can.
[[nodiscard]] const char* check_reply_stream(wire::Bytes stream, std::uint32_t xid);

}  // namespace rpcrdma::protocol
