// Validates the Read list of a received message (RFC 8166 sections 3.4, 4.3.1): of a Call, or with
// RFC 5666 of a Reply. Before that nothing but the description is allocated, for as many segments
// as are accepted, and no value from the peer is used as a length or an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

// Least length of a stream that holds an RPC message: XID and msg_type.
inline constexpr std::size_t kLeastStreamBytes = 8;

// A range in CheckedReads::segments.
struct ChunkRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct ReadChunk {
  std::uint32_t position = 0;  // a multiple of 4; 0: the whole stream
  std::uint32_t bytes = 0;     // of all its segments; at least 1
  ChunkRange segments;
};

// Read chunks are in order of position, whatever that of the Read list is, do not overlap, and lie
// within the stream; the totals are within the limits.
struct CheckedReads {
  CheckedReads() {}  // not "= default": see wire::HeaderView

  [[nodiscard]] std::span<const wire::Segment> of(const ChunkRange& range) const {
    return std::span(segments).subspan(range.first, range.count);
  }

  // Makes it one without chunks.
  void begin() {
    is_long = false;
    payload = {};
    padding = {};
    reads.clear();
    segments.clear();
    read_bytes = 0;
  }
  // Releases the memory of a message with unusually many chunks.
  void shrink() {
    if (reads.capacity() > kMaxSegments) std::vector<ReadChunk>().swap(reads);
    if (segments.capacity() > kMaxSegments) std::vector<wire::Segment>().swap(segments);
  }

  // RDMA_NOMSG: reads[0] is at Position Zero and holds the stream.
  bool is_long = false;
  wire::Bytes payload;  // else the stream without the content of Read chunks; in the message
  Padding padding{};    // of the payload

  std::uint64_t read_bytes = 0;  // of all Read chunks
  std::vector<ReadChunk> reads;
  std::vector<wire::Segment> segments;  // of the Read list first
};

// The reason for a refusal.
struct Refusal {
  const char* rule = "";    // ID of the violated rule; empty for a limit of this side
  const char* reason = "";  // one clause for display; empty: not refused

  explicit operator bool() const { return *reason != 0; }
};

struct ReadLimits {
  std::uint64_t bytes = 0;     // of all Read chunks together
  std::uint32_t segments = 0;  // of all chunks
  // Bytes of the unreduced stream that neither the payload nor the Read chunks contain: results in
  // Write chunks.
  std::uint64_t elsewhere = 0;
};

// `header`: of an RDMA_MSG, RDMA_MSGP or RDMA_NOMSG; `payload`: the bytes after it.
[[nodiscard]] Refusal check_read_list(const wire::HeaderView& header, wire::Bytes payload,
                                      const ReadLimits& limits, CheckedReads& message);

// Appends it to the segments if it is valid and there are fewer than `most`.
[[nodiscard]] Refusal add_segment(const wire::Segment& segment, std::uint32_t most,
                                  CheckedReads& message);

}  // namespace rpcrdma::protocol
