// What of a message travels inline and what by chunks (RFC 8166 sections 3.4, 3.5). Decided from
// lengths alone, before anything is registered, and with the exact length of the header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/versions.h>

namespace rpcrdma::protocol {

struct Limits {
  std::uint32_t call_threshold = 1024;   // inline threshold of Calls, bytes, header included
  std::uint32_t reply_threshold = 1024;  // of Replies
  std::uint32_t max_segment = 1U << 30;  // bytes of one segment; longer chunks have several
  // Of a header whose chunk lists are empty, bytes: see empty_header_bytes().
  std::uint32_t empty_header = 28;
  // No chunks at all: what does not fit without is not sent (draft-cel-nfsv4-rpcrdma-bidirection-01
  // section 2.4).
  bool inline_only = false;
  // RFC 5666 only. What of a Call is padded: see Padding.
  Padding padding{};
  // Whether the messages of the other side may have Read chunks: Calls (its maxrdmaread), and
  // Replies (section 3.5).
  bool read_chunks = true;
  bool reply_reads = false;
  // Of a Call: no Write chunks and no Reply chunk are offered, so that its Reply is inline or comes
  // by Read chunks.
  bool offer_nothing = false;
  // Of a Call: Write chunks and a Reply chunk are offered though its Reply would fit inline, as the
  // peer has said that it does not.
  bool offer_all = false;
};

// RDMA_MSG and RDMA_NOMSG of a version: the four fixed words, in version 2 rdma_direction and
// rdma_inv_handle, and a marker for each of the three lists.
[[nodiscard]] constexpr std::uint32_t empty_header_bytes(std::uint32_t version) {
  return version == kVersionTwo ? 36 : 28;
}

// Segments of a chunk: all but the last are max_segment long. None for a chunk of no bytes.
[[nodiscard]] constexpr std::uint64_t segment_count(std::uint64_t bytes,
                                                    std::uint32_t max_segment) {
  return (bytes + max_segment - 1) / max_segment;
}

// Of a Call.
struct CallPlan {
  bool long_call = false;                  // RDMA_NOMSG: all of it in a Position Zero Read chunk
  std::array<bool, kMaxPieces> by_read{};  // pieces that are Read chunks
  bool padded = false;                     // RDMA_MSGP
  bool write_list = false;                 // a Write chunk for each of the results, in order; one
                                           // for a result of no bytes has no segment
  std::uint32_t reply_chunk = 0;           // bytes of the Reply chunk that is offered; 0: none
  std::uint32_t header_bytes = 0;          // exact
  std::uint32_t inline_bytes = 0;          // of the stream that follows the header; exact
  std::uint32_t segments = 0;              // of all chunks
};

// `max_reply`: the longest that the Reply's stream can be, RPC header included, without the content
// of the `results`. Chunks are used only where a message does not fit without, but for those of the
// results under Limits::offer_all: DDP-eligible pieces, the largest first, then a Position Zero
// Read chunk; Write chunks, then a Reply chunk. Errors: kBadArgument when it cannot be sent at all,
// with a reason (too many pieces or segments, a header longer than the threshold, a message of 2
// GiB and more, a DDP-eligible piece that does not begin at a multiple of 4 bytes).
[[nodiscard]] fabric::Expected<CallPlan> plan_call(const Limits& limits,
                                                   std::span<const Piece> message,
                                                   std::span<const ResultSpace> results,
                                                   std::uint32_t max_reply);

// What a Call offers for its Reply.
struct Offer {
  std::array<std::uint64_t, kMaxResults> write_chunk{};  // bytes of each
  std::array<std::uint32_t, kMaxResults> write_segments{};
  std::uint32_t write_chunks = 0;
  std::uint64_t reply_chunk = 0;
  std::uint32_t reply_segments = 0;
  bool has_reply_chunk = false;
};

// Of a Reply.
struct ReplyPlan {
  bool long_reply = false;  // RDMA_NOMSG: the stream goes into the Reply chunk
  // RFC 5666 only. RDMA_NOMSG: the stream is a Position Zero Read chunk; pieces, by their index in
  // the message, that are Read chunks; and segments of all those.
  bool read_reply = false;
  std::array<bool, kMaxPieces> by_read{};
  std::uint32_t read_segments = 0;
  // Pieces, by their index in the message, that Write chunks hold: the n-th DDP-eligible piece is
  // in the n-th Write chunk.
  std::array<bool, kMaxPieces> by_write{};
  std::uint32_t header_bytes = 0;  // exact
  std::uint32_t stream_bytes = 0;  // without what Write chunks hold, exact
};

// Which of the offered chunks a Reply is too long for, by its number in the Write list.
struct Shortage {
  static constexpr std::uint32_t kReplyChunk = UINT32_MAX;
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  std::uint32_t chunk = kUnknown;
  std::uint64_t bytes = 0;  // that it would have to have; of an unknown one 0
};

// Every DDP-eligible piece goes into its Write chunk if the Call has one with room for any byte
// (WR-10): a Write chunk without is how a requester says that this result is to come inline. With
// `reply_reads`, what finds no room is left to be read: DDP-eligible pieces, the largest first, or
// all of the stream.
// Errors: kNoRoom when the chunks that were offered are too small or missing, of which `shortage`
// then tells: answer ERR_CHUNK, or RDMA2_ERR_CANT_REPLY; kBadArgument for too many pieces.
[[nodiscard]] fabric::Expected<ReplyPlan> plan_reply(const Limits& limits,
                                                     std::span<const Piece> message,
                                                     const Offer& offer,
                                                     Shortage* shortage = nullptr);
// The Write list that comes back with every Reply leaves room in a Send for itself.
[[nodiscard]] bool reply_header_fits(const Limits& limits, const Offer& offer);

}  // namespace rpcrdma::protocol
