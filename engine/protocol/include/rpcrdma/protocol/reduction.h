// Decides which parts of a message travel inline and which in chunks (RFC 8166 sections 3.4, 3.5).
// It uses lengths alone, before any memory is registered, and the exact length of the header.
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
  // Bytes of a header with empty chunk lists: see empty_header_bytes().
  std::uint32_t empty_header = 28;
  // No chunks at all: a message that does not fit without them is not sent
  // (draft-cel-nfsv4-rpcrdma-bidirection-01 section 2.4).
  bool inline_only = false;
  // RFC 5666 only. The padding of messages sent here: see Padding.
  Padding padding{};
  // Whether messages to the peer may have Read chunks: Calls (its maxrdmaread), and Replies
  // (section 3.5).
  bool read_chunks = true;
  bool reply_reads = false;
  // For a Call: offer no Write chunks and no Reply chunk, so that its Reply is inline or comes by
  // Read chunks.
  bool offer_nothing = false;
  // For a Call: offer Write chunks and a Reply chunk although its Reply would fit inline, since the
  // peer has answered that it does not.
  bool offer_all = false;
};

// Length of an empty RDMA_MSG or RDMA_NOMSG header: the four fixed words, in version 2 also
// rdma_direction and rdma_inv_handle, and a marker for each of the three lists.
[[nodiscard]] constexpr std::uint32_t empty_header_bytes(std::uint32_t version) {
  return version == kVersionTwo ? 36 : 28;
}

// Segments of a chunk: all but the last are max_segment long. A chunk without bytes has none.
[[nodiscard]] constexpr std::uint64_t segment_count(std::uint64_t bytes,
                                                    std::uint32_t max_segment) {
  return (bytes + max_segment - 1) / max_segment;
}

// How a Call is sent.
struct CallPlan {
  bool long_call = false;                  // RDMA_NOMSG: all of it in a Position Zero Read chunk
  std::array<bool, kMaxPieces> by_read{};  // pieces that are Read chunks
  bool padded = false;                     // RDMA_MSGP
  bool write_list = false;                 // a Write chunk for each of the results, in order; one
                                           // for a result of no bytes has no segment
  std::uint32_t reply_chunk = 0;           // bytes of the Reply chunk offered; 0: none
  std::uint32_t header_bytes = 0;          // exact
  std::uint32_t inline_bytes = 0;          // of the stream that follows the header; exact
  std::uint32_t segments = 0;              // of all chunks
};

// `max_reply`: the maximum length of the Reply's stream, RPC header included, without the content
// of the `results`. Chunks are used only where a message does not fit without them, except those of
// the results with Limits::offer_all. The order is: DDP-eligible pieces, the largest first, then a
// Position Zero Read chunk; Write chunks, then a Reply chunk. Errors: kBadArgument with a reason if
// the Call cannot be sent at all (too many pieces or segments, a header longer than the threshold,
// a message of 2 GiB or more, a DDP-eligible piece at an offset that is not a multiple of 4).
[[nodiscard]] fabric::Expected<CallPlan> plan_call(const Limits& limits,
                                                   std::span<const Piece> message,
                                                   std::span<const ResultSpace> results,
                                                   std::uint32_t max_reply);

// The chunks that a Call offers for its Reply.
struct Offer {
  // Bytes of the first Write chunks: as many as a Reply can have results. A Call may offer more.
  std::array<std::uint64_t, kMaxPieces> write_chunk{};
  std::uint32_t write_chunks = 0;
  std::uint32_t write_segments = 0;  // of all Write chunks
  std::uint64_t reply_chunk = 0;
  std::uint32_t reply_segments = 0;
  bool has_reply_chunk = false;

  void add_write_chunk(std::uint64_t bytes, std::uint32_t segments) {
    if (write_chunks < write_chunk.size()) write_chunk[write_chunks] = bytes;
    ++write_chunks;
    write_segments += segments;
  }
};

// How a Reply is sent.
struct ReplyPlan {
  bool long_reply = false;  // RDMA_NOMSG: the stream goes into the Reply chunk
  // RFC 5666 only. RDMA_NOMSG: the stream is a Position Zero Read chunk; pieces, by their index in
  // the message, that are Read chunks; and the segments of all these chunks.
  bool read_reply = false;
  std::array<bool, kMaxPieces> by_read{};
  std::uint32_t read_segments = 0;
  bool padded = false;  // RFC 5666 only: RDMA_MSGP
  // Pieces, by their index in the message, that go into Write chunks: the n-th DDP-eligible piece
  // is in the n-th Write chunk.
  std::array<bool, kMaxPieces> by_write{};
  std::uint32_t header_bytes = 0;  // exact
  std::uint32_t stream_bytes = 0;  // with padding, without what Write chunks hold, exact
};

// The offered chunk for which a Reply is too long, by its number in the Write list.
struct Shortage {
  static constexpr std::uint32_t kReplyChunk = UINT32_MAX;
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  std::uint32_t chunk = kUnknown;
  std::uint64_t bytes = 0;  // length that it would need; 0 if the chunk is unknown
};

// Every DDP-eligible piece goes into its Write chunk if that chunk has room for at least one byte
// (WR-10): with a Write chunk without room, a requester requests this result inline. With
// `reply_reads`, data without room is left for the requester to read: DDP-eligible pieces, the
// largest first, or the whole stream. Errors: kNoRoom if the offered chunks are too small or
// missing: `shortage` has the details, and the answer is ERR_CHUNK or RDMA2_ERR_CANT_REPLY;
// kBadArgument for too many pieces.
[[nodiscard]] fabric::Expected<ReplyPlan> plan_reply(const Limits& limits,
                                                     std::span<const Piece> message,
                                                     const Offer& offer,
                                                     Shortage* shortage = nullptr);
// Returns whether the Write list, which every Reply returns, fits into a Send.
[[nodiscard]] bool reply_header_fits(const Limits& limits, const Offer& offer);

}  // namespace rpcrdma::protocol
