// Encodes messages from the fields of tracepoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::tracepoints {

// Chunk lists, without an allocation for each chunk.
struct ChunkLists {
  std::vector<wire::ReadSegment> reads;
  std::vector<wire::Segment> writes;             // of all Write chunks
  std::vector<std::uint32_t> write_chunk_sizes;  // in segments
  std::vector<wire::Segment> reply;
  bool has_reply = false;

  void clear();
  [[nodiscard]] bool empty() const { return reads.empty() && writes.empty() && reply.empty(); }
  [[nodiscard]] std::uint64_t reply_bytes() const;
  // A segment of the Write list; it begins a new chunk if `segno` is 0.
  void add_write(const wire::Segment& segment, bool begins_chunk);
};

struct RpcProcedure {
  std::uint32_t program = 0, version = 0, procedure = 0;
  [[nodiscard]] bool known() const { return program != 0; }
};

class MessageEncoder {
 public:
  // Encodes the header, and the first words of the RPC message after it if the message has one.
  // Returns the payload of a Message event, valid until the next call; empty if the version or
  // type has no encoding, in which case only the first four words are encoded.
  std::span<const std::uint8_t> encode(const wire::Header& fixed, const ChunkLists& lists,
                                       wire::MsgType direction, const RpcProcedure& procedure);
  // Bytes of the header in the last message.
  [[nodiscard]] std::size_t header_bytes() const { return header_bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<wire::WriteChunk> chunks_;
  std::size_t header_bytes_ = 0;
};

// Sets the length of a message and, if it is unknown, the bit that says so.
void set_length(trace::Message& message, std::optional<std::uint64_t> length,
                std::size_t payload_bytes);

}  // namespace rpcrdma::tracepoints
