#include "reduction.h"

#include <algorithm>
#include <array>

#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::model {

namespace {

constexpr std::size_t kMaxItems = 64;

wire::Bytes inline_payload(const Message& m) {
  if (m.header_length > m.bytes.size()) return {};
  return wire::Bytes(m.bytes).subspan(m.header_length);
}

void append(std::vector<std::uint8_t>& out, wire::Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Data of a chunk and its roundup. False when the capture does not have all of it.
bool append_chunk(std::vector<std::uint8_t>& out, const CallChunk& chunk, std::uint64_t length) {
  const auto& extents = chunk.data.extents();
  wire::Bytes data;
  if (!extents.empty() && extents.front().offset == 0) data = extents.front().bytes;
  data = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(length, data.size())));
  append(out, data);
  if (data.size() == length) {
    out.resize(out.size() + static_cast<std::size_t>(wire::xdr_padded(length) - length));
    return true;
  }
  return false;
}

// Bytes returned in each Write chunk, by the Reply's header.
std::vector<std::uint64_t> returned_lengths(const Message& reply) {
  std::vector<std::uint64_t> lengths;
  for_each_write_chunk(reply, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    std::uint64_t sum = 0;
    for (const wire::Segment& s : segments) sum += s.length;
    lengths.push_back(sum);
  });
  return lengths;
}

std::uint64_t reply_chunk_length(const Message& reply) {
  std::uint64_t sum = 0;
  for (const wire::Segment& s : reply.reply_segments) sum += s.length;
  return sum;
}

// The RPC message without what travelled in chunks of their own: inline, or by Position Zero chunk
// or Reply chunk. False: bytes of it are missing.
bool reduced_call(const Call& call, std::vector<std::uint8_t>& out) {
  if (!is_external(call.message)) {
    const wire::Bytes payload = inline_payload(call.message);
    out.assign(payload.begin(), payload.end());
    return call.message.complete;
  }
  for (const CallChunk& chunk : call.chunks) {
    if (chunk.list == ChunkList::kRead && chunk.position == 0) {
      out = chunk.data.prefix(chunk.length);
      return out.size() == chunk.length;
    }
  }
  return false;
}

bool reduced_reply(const Call& call, const Message& reply, std::vector<std::uint8_t>& out) {
  if (!is_external(reply)) {
    const wire::Bytes payload = inline_payload(reply);
    out.assign(payload.begin(), payload.end());
    return reply.complete;
  }
  const std::uint64_t length = reply_chunk_length(reply);
  for (const CallChunk& chunk : call.chunks) {
    if (chunk.list == ChunkList::kReply) out = chunk.data.prefix(length);
  }
  return out.size() == length;
}

// DDP-eligible items of the results, and the length of the RPC header in front of them.
struct ResultItems {
  std::array<decode::DdpItem, kMaxItems> items;
  std::size_t count = 0;
  std::uint32_t rpc_length = 0;
};

ResultItems result_items(const Call& call, const std::vector<std::uint8_t>& reduced,
                         const std::vector<std::uint64_t>& lengths) {
  ResultItems r;
  const auto rpc = wire::decode_rpc(reduced);
  if (!rpc || !call.message.rpc.known) return r;
  r.rpc_length = rpc->length;
  const RpcInfo& id = call.message.rpc;
  r.count = decode::find_result_items({id.program, id.version, id.procedure},
                                      wire::Bytes(reduced).subspan(rpc->length), lengths, r.items);
  return r;
}

bool is_position_zero(const CallChunk& chunk) {
  return chunk.list == ChunkList::kRead && chunk.position == 0;
}

}  // namespace

namespace {

// Bytes of all its chunks, with room for roundup.
std::size_t held(const Call& call) {
  std::size_t sum = 0;
  for (const CallChunk& chunk : call.chunks) sum += chunk.data.held() + sizeof(std::uint32_t);
  return sum;
}

}  // namespace

Rebuilt rebuild_call(const Call& call) {
  Rebuilt result;
  std::vector<std::uint8_t> reduced;
  result.complete = reduced_call(call, reduced);
  result.bytes.reserve(reduced.size() + held(call));
  // Positions count in the message that is being built, so chunks go in one after the other.
  std::size_t used = 0;
  for (const CallChunk& chunk : call.chunks) {
    if (chunk.list != ChunkList::kRead || is_position_zero(chunk)) continue;
    if (chunk.position < result.bytes.size() ||
        chunk.position - result.bytes.size() > reduced.size() - used) {
      result.complete = false;
      continue;
    }
    const std::size_t before = chunk.position - result.bytes.size();
    append(result.bytes, wire::Bytes(reduced).subspan(used, before));
    used += before;
    if (!append_chunk(result.bytes, chunk, chunk.length)) result.complete = false;
  }
  append(result.bytes, wire::Bytes(reduced).subspan(used));
  return result;
}

ReducedArguments reduced_arguments(const Call& call) {
  ReducedArguments result;
  std::vector<std::uint8_t> reduced;
  (void)reduced_call(call, reduced);
  const auto rpc = wire::decode_rpc(reduced);
  if (!rpc) return result;
  result.arguments.assign(reduced.begin() + rpc->length, reduced.end());
  result.removed = removed_by_reads(call, rpc->length);
  return result;
}

std::uint64_t read_payload_length(const Call& call, const CallChunk& chunk) {
  if (is_position_zero(chunk)) return chunk.length;
  std::vector<std::uint8_t> reduced;
  (void)reduced_call(call, reduced);
  std::uint64_t taken = 0;
  for (const CallChunk& other : call.chunks) {
    if (&other == &chunk) break;
    if (other.list == ChunkList::kRead && !is_position_zero(other)) {
      taken += wire::xdr_padded(other.length);
    }
  }
  if (chunk.position < taken + 4 || chunk.position - taken > reduced.size()) return chunk.length;
  const std::uint32_t count = wire::load_be32(reduced.data() + (chunk.position - taken) - 4);
  return count < chunk.length && wire::xdr_padded(count) == chunk.length ? count : chunk.length;
}

std::uint64_t result_payload_length(const Call& call, const CallChunk& chunk,
                                    const Message& reply) {
  if (chunk.list == ChunkList::kReply) return reply_chunk_length(reply);
  const auto lengths = returned_lengths(reply);
  if (chunk.index >= lengths.size()) return 0;
  const std::uint64_t returned = lengths[chunk.index];
  std::vector<std::uint8_t> reduced;
  (void)reduced_reply(call, reply, reduced);
  const ResultItems found = result_items(call, reduced, lengths);
  for (std::size_t i = 0; i < found.count; ++i) {
    const decode::DdpItem& item = found.items[i];
    if (item.chunk == static_cast<std::int32_t>(chunk.index) && item.length < returned &&
        wire::xdr_padded(item.length) == returned) {
      return item.length;
    }
  }
  return returned;
}

Rebuilt rebuild_reply(const Call& call, const Message& reply) {
  Rebuilt result;
  std::vector<std::uint8_t> reduced;
  result.complete = reduced_reply(call, reply, reduced);

  const auto lengths = returned_lengths(reply);
  const bool any = std::any_of(lengths.begin(), lengths.end(), [](auto n) { return n != 0; });
  const ResultItems found = result_items(call, reduced, lengths);
  if (!any || found.rpc_length == 0) {
    result.complete &= !any;
    result.bytes = std::move(reduced);
    return result;
  }
  result.bytes.reserve(reduced.size() + held(call));
  std::size_t used = 0;
  std::size_t chunks_placed = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const decode::DdpItem& item = found.items[i];
    if (item.chunk < 0) continue;
    const std::size_t end = found.rpc_length + item.count_offset + 4;
    if (end < used || end > reduced.size()) {
      result.complete = false;
      continue;
    }
    append(result.bytes, wire::Bytes(reduced).subspan(used, end - used));
    used = end;
    result.guessed |= item.guessed;
    for (const CallChunk& chunk : call.chunks) {
      if (chunk.list == ChunkList::kWrite &&
          chunk.index == static_cast<std::uint32_t>(item.chunk)) {
        // RFC 5666 peers count roundup in the returned length; the item's own count is what it is.
        if (!append_chunk(result.bytes, chunk, item.length)) result.complete = false;
        ++chunks_placed;
      }
    }
  }
  append(result.bytes, wire::Bytes(reduced).subspan(used));
  const auto with_data = static_cast<std::size_t>(
      std::count_if(lengths.begin(), lengths.end(), [](auto l) { return l != 0; }));
  if (chunks_placed < with_data) result.complete = false;
  return result;
}

}  // namespace rpcrdma::model
