#include "reply_check.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::protocol {
namespace {

using wire::Proc;

// The bytes that a returned chunk reports as written; returns a reason if that is impossible.
const char* check_chunk(const wire::WriteChunkView& chunk, std::span<const wire::Segment> offered,
                        std::uint64_t& bytes) {
  bytes = 0;
  if (chunk.size() != offered.size()) return "a returned chunk has another number of segments";
  bool full = true;  // all segments so far
  for (std::uint32_t i = 0; i < chunk.size(); ++i) {
    const wire::Segment s = chunk[i];
    if (s.handle != offered[i].handle) return "a returned segment has another handle";
    if (s.offset != offered[i].offset) return "a returned segment has another offset";
    if (s.length > offered[i].length) return "a returned segment is longer than offered";
    if (s.length != 0 && !full) return "a chunk was filled with a gap";
    full = s.length == offered[i].length;
    bytes += s.length;
  }
  return "";
}

const char* check_lists(const wire::HeaderView& header, const OfferedChunks& offered,
                        CheckedReply& reply, std::uint64_t& reply_bytes) {
  reply.has_reads = !header.reads.empty();
  if (reply.has_reads && !offered.rfc5666) return "a Reply has a Read list";
  if (header.writes.size() != offered.write_chunks) {
    return "the returned Write list has another number of chunks";
  }
  std::span<const wire::Segment> segments = offered.segments;
  std::uint32_t n = 0;
  for (const wire::WriteChunkView chunk : header.writes) {
    const std::uint32_t count = offered.write_segments[n];
    std::uint64_t bytes = 0;
    const char* const reason = check_chunk(chunk, segments.first(count), bytes);
    if (*reason != 0) return reason;
    reply.result_bytes[n++] = static_cast<std::uint32_t>(bytes);
    segments = segments.subspan(count);
  }
  if (!header.reply) return "";
  if (offered.reply_segments == 0) return "a Reply chunk that was not offered was returned";
  return check_chunk(*header.reply, segments, reply_bytes);
}

const char* check(const Received& message, std::uint32_t xid, const OfferedChunks& offered,
                  CheckedReply& reply) {
  const auto prefix = wire::decode_prefix(message.message());
  if (prefix && prefix->vers != offered.version) return "rdma_vers is not the Call's";
  if (!message.header) return message.header.error().what;
  const wire::HeaderView& header = *message.header;
  const bool is_padded = header.proc == Proc::kMsgp && offered.rfc5666;
  if (header.proc != Proc::kMsg && header.proc != Proc::kNomsg && !is_padded) {
    return "it is neither RDMA_MSG nor RDMA_NOMSG";
  }
  if (header.vers == kVersionTwo) {
    if (header.direction != wire::MsgType::kReply) return "rdma_direction is not REPLY";
    if (header.inv_handle != offered.inv_handle) return "rdma_inv_handle is not the Call's";
  }
  std::uint64_t reply_bytes = 0;
  const char* const reason = check_lists(header, offered, reply, reply_bytes);
  if (*reason != 0) return reason;
  if (is_padded) {
    if (header.align == 0 || header.align > kMaxAlign)
      return "rdma_align is 0, or more than a page";
    reply.padding = {header.align, header.thresh, header.length};
  }
  if (header.proc == Proc::kNomsg && reply.has_reads) return "";
  if (header.proc != Proc::kNomsg) {
    if (reply_bytes != 0) return "an RDMA_MSG reports its Reply chunk as written";
    reply.stream = message.payload();
  } else {
    if (reply_bytes == 0) return "an RDMA_NOMSG has nothing in a Reply chunk";
    reply.stream = {offered.reply_memory, static_cast<std::size_t>(reply_bytes)};
  }
  return check_reply_stream(reply.stream, xid);
}

}  // namespace

// XID and msg_type; the rest belongs to the RPC layer.
const char* check_reply_stream(wire::Bytes stream, std::uint32_t xid) {
  if (stream.size() < 8) return "the stream ends before the XID and msg_type do";
  if (wire::load_be32(stream.data()) != xid) return "the RPC message has another XID";
  if (wire::load_be32(stream.data() + 4) != static_cast<std::uint32_t>(wire::MsgType::kReply)) {
    return "msg_type is not REPLY";
  }
  return "";
}

CheckedReply check_option_reply(const Received& message, std::uint32_t type) {
  CheckedReply reply;
  const auto reject = [&](const char* reason) {
    reply.reason = reason;
    return reply;
  };
  if (!message.header) return reject(message.header.error().what);
  const wire::HeaderView& header = *message.header;
  if (header.vers != kVersionTwo || header.proc != Proc::kOptional) {
    return reject("it is not an RDMA2_OPTIONAL");
  }
  if (header.direction != wire::MsgType::kReply) return reject("rdma_optdir is not REPLY");
  if (header.opttype != type) return reject("rdma_opttype is not the Call's");
  reply.stream = header.optinfo;
  reply.payload = message.payload();
  return reply;
}

CheckedReply check_reply(const Received& message, std::uint32_t xid, const OfferedChunks& offered) {
  CheckedReply reply;
  reply.reason = check(message, xid, offered, reply);
  return reply;
}

}  // namespace rpcrdma::protocol
