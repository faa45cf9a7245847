// An RPC message as its upper layer passes it in: one XDR stream in pieces, some of which are data
// items that may travel in chunks by direct data placement (RFC 8166 section 3.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::protocol {

// Maximum pieces of one message, and results of one Call with memory of their own.
inline constexpr std::size_t kMaxPieces = 8;
inline constexpr std::size_t kMaxResults = 4;
// Maximum segments of all chunks of one message that is sent here.
inline constexpr std::size_t kMaxSegments = 64;
// Defaults for messages of the peer: segments of all chunks, and Write chunks.
inline constexpr std::uint32_t kAcceptedSegments = 1024;
inline constexpr std::uint32_t kAcceptedWriteChunks = 64;
// Maximum length of a message, unreduced: InfiniBand's limit on one operation is 2^31 bytes.
inline constexpr std::uint64_t kMaxMessageBytes = (std::uint64_t{1} << 31) - 1;

// The pieces of a stream follow each other. A DDP-eligible piece is only the content of an opaque
// or string: its count is at the end of the preceding piece, and its roundup is added when it is
// sent inline.
struct Piece {
  wire::Bytes bytes;
  // Registered memory that holds the bytes, so that they need not be copied; or null.
  const fabric::Memory* memory = nullptr;
  bool ddp = false;  // DDP-eligible by the upper-layer binding
};

// Length of the whole stream, with roundups.
[[nodiscard]] inline std::uint64_t stream_bytes(std::span<const Piece> pieces) {
  std::uint64_t sum = 0;
  for (const Piece& p : pieces) sum += p.ddp ? wire::xdr_padded(p.bytes.size()) : p.bytes.size();
  return sum;
}

// Bytes of RPC messages by how they travel (RFC 8166 section 3.5): in a Send after the
// RPC-over-RDMA header, or moved by RDMA, without the roundup of items in chunks.
struct MessageBytes {
  std::uint64_t inline_calls = 0, inline_replies = 0;
  std::uint64_t read_chunks = 0;   // of arguments
  std::uint64_t long_calls = 0;    // Position Zero Read chunks
  std::uint64_t write_chunks = 0;  // of results
  std::uint64_t reply_chunks = 0;
  std::uint64_t reply_reads = 0;  // RFC 5666: of Replies that the requester reads

  [[nodiscard]] std::uint64_t read() const { return read_chunks + long_calls; }
  [[nodiscard]] std::uint64_t written() const { return write_chunks + reply_chunks; }

  friend bool operator==(const MessageBytes&, const MessageBytes&) = default;
  MessageBytes& operator+=(const MessageBytes& o) {
    inline_calls += o.inline_calls;
    inline_replies += o.inline_replies;
    read_chunks += o.read_chunks;
    long_calls += o.long_calls;
    write_chunks += o.write_chunks;
    reply_chunks += o.reply_chunks;
    reply_reads += o.reply_reads;
    return *this;
  }
};

// Memory for a DDP-eligible result. It belongs to the upper layer and stays registered until the
// Call has ended.
struct ResultSpace {
  std::uint8_t* data = nullptr;
  std::uint32_t length = 0;  // bytes; the longest expected result
  const fabric::Memory* memory = nullptr;
};

}  // namespace rpcrdma::protocol
