#include "message.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::tracepoints {

void ChunkLists::clear() {
  reads.clear();
  writes.clear();
  write_chunk_sizes.clear();
  reply.clear();
  has_reply = false;
}

std::uint64_t ChunkLists::reply_bytes() const {
  std::uint64_t bytes = 0;
  for (const wire::Segment& segment : reply) bytes += segment.length;
  return bytes;
}

void ChunkLists::add_write(const wire::Segment& segment, bool begins_chunk) {
  if (begins_chunk || write_chunk_sizes.empty()) write_chunk_sizes.push_back(0);
  writes.push_back(segment);
  ++write_chunk_sizes.back();
}

std::span<const std::uint8_t> MessageEncoder::encode(const wire::Header& fixed,
                                                     const ChunkLists& lists,
                                                     wire::MsgType direction,
                                                     const RpcProcedure& procedure) {
  wire::Header header = fixed;
  header.reads = lists.reads;
  chunks_.clear();
  std::size_t first = 0;
  for (const std::uint32_t size : lists.write_chunk_sizes) {
    chunks_.emplace_back(std::span(lists.writes).subspan(first, size));
    first += size;
  }
  header.writes = chunks_;
  if (lists.has_reply) header.reply = wire::WriteChunk(lists.reply);
  constexpr std::size_t kRpcWords = 6;
  const std::size_t size = wire::encoded_size(header);
  bytes_.resize(size + kRpcWords * 4 + wire::kPrefixBytes);
  const auto encoded = wire::encode_header(header, bytes_);
  if (!encoded) {
    header_bytes_ = wire::kPrefixBytes;
    wire::store_be32(bytes_.data(), header.xid);
    wire::store_be32(bytes_.data() + 4, header.vers);
    wire::store_be32(bytes_.data() + 8, header.credit);
    wire::store_be32(bytes_.data() + 12, static_cast<std::uint32_t>(header.proc));
    return std::span(bytes_).first(header_bytes_);
  }
  header_bytes_ = *encoded;
  if (header.proc != wire::Proc::kMsg) return std::span(bytes_).first(header_bytes_);
  std::uint8_t* p = bytes_.data() + header_bytes_;
  const auto word = [&p](std::uint32_t value) {
    wire::store_be32(p, value);
    p += 4;
  };
  word(header.xid);
  word(static_cast<std::uint32_t>(direction));
  if (direction == wire::MsgType::kCall && procedure.known()) {
    constexpr std::uint32_t kRpcVersion = 2;
    word(kRpcVersion);
    word(procedure.program);
    word(procedure.version);
    word(procedure.procedure);
  }
  return std::span(bytes_).first(static_cast<std::size_t>(p - bytes_.data()));
}

void set_length(trace::Message& message, std::optional<std::uint64_t> length,
                std::size_t payload_bytes) {
  if (length && *length >= payload_bytes && *length <= UINT32_MAX) {
    message.length = static_cast<std::uint32_t>(*length);
    return;
  }
  message.length = static_cast<std::uint32_t>(payload_bytes);
  message.unknown |= trace::kLengthUnknown;
}

}  // namespace rpcrdma::tracepoints
