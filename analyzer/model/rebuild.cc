// Rebuilds RPC messages: takes the inline or long message and inserts Read chunks by Position
// and Write chunks at the DDP-eligible results.
#include "reduction.h"

#include <algorithm>
#include <array>
#include <span>

#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::model {

namespace {

constexpr std::size_t kMaxItems = 64;

void append(std::vector<std::uint8_t>& out, wire::Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// The first reason counts.
void note(Incomplete& noted, Incomplete why) {
  if (noted == Incomplete::kNo) noted = why;
}

// `length`: bytes wanted of the chunk, not all of them present.
Incomplete missing_of(const CallChunk& chunk, std::uint64_t length) {
  if (chunk.moved < length) return Incomplete::kNotMoved;
  return chunk.truncated ? Incomplete::kNotKept : Incomplete::kNotSeen;
}

// Appends the data of a chunk, without roundup.
void append_chunk(std::vector<std::uint8_t>& out, const CallChunk& chunk, std::uint64_t length,
                  Incomplete& incomplete) {
  const auto& extents = chunk.data.extents();
  wire::Bytes data;
  if (!extents.empty() && extents.front().offset == 0) data = extents.front().bytes;
  data = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(length, data.size())));
  append(out, data);
  if (data.size() != length) note(incomplete, missing_of(chunk, length));
}

void append_roundup(std::vector<std::uint8_t>& out, std::uint64_t length) {
  out.resize(out.size() + static_cast<std::size_t>(wire::xdr_padded(length) - length));
}

// Bytes returned in each Write chunk, from the Reply's header.
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

bool is_position_zero(const CallChunk& chunk) {
  return chunk.list == ChunkList::kRead && chunk.position == 0;
}

bool has_position_zero(const Message& m) {
  return std::any_of(m.reads.begin(), m.reads.end(),
                     [](const wire::ReadSegment& r) { return r.position == 0; });
}

// The RPC message without the data in chunks of their own: inline, or from a Position Zero chunk or
// Reply chunk.
Incomplete reduced_call(const Call& call, std::vector<std::uint8_t>& out) {
  if (!is_external(call.message)) {
    out = inline_message(call.message);
    return call.message.complete ? Incomplete::kNo : Incomplete::kNotSeen;
  }
  Incomplete incomplete = Incomplete::kNo;
  out.clear();
  for (const CallChunk& chunk : call.chunks) {
    if (is_position_zero(chunk)) append_chunk(out, chunk, chunk.length, incomplete);
  }
  return incomplete;
}

Incomplete reduced_reply(const Call& call, const Message& reply, std::vector<std::uint8_t>& out) {
  if (!is_external(reply)) {
    out = inline_message(reply);
    return reply.complete ? Incomplete::kNo : Incomplete::kNotSeen;
  }
  out.clear();
  if (has_position_zero(reply)) {
    Incomplete incomplete = call.reply != nullptr ? Incomplete::kNo : Incomplete::kReplyReads;
    for (const CallChunk& chunk : call.chunks) {
      if (chunk.list == ChunkList::kReplyRead && chunk.position == 0) {
        append_chunk(out, chunk, chunk.length, incomplete);
      }
    }
    return incomplete;
  }
  const std::uint64_t length = reply_chunk_length(reply);
  for (const CallChunk& chunk : call.chunks) {
    if (chunk.list != ChunkList::kReply) continue;
    out = chunk.data.prefix(length);
    if (out.size() != length) return missing_of(chunk, length);
  }
  return out.size() == length ? Incomplete::kNo : Incomplete::kNotMoved;
}

// Segments are filled one after the other (RFC 8166 section 3.4.6).
Incomplete filling(std::span<const wire::Segment> offered,
                   std::span<const wire::Segment> returned) {
  bool ended = false;
  for (std::size_t i = 0; i < std::min(offered.size(), returned.size()); ++i) {
    if (returned[i].length > offered[i].length) return Incomplete::kOverrun;
    if (ended && returned[i].length != 0) return Incomplete::kGap;
    ended |= returned[i].length < offered[i].length;
  }
  return Incomplete::kNo;
}

Incomplete write_list_filling(const Message& call, const Message& reply) {
  Incomplete found = Incomplete::kNo;
  std::size_t at = 0;
  for_each_write_chunk(reply, [&](std::uint32_t i, std::span<const wire::Segment> returned) {
    if (i >= call.write_counts.size()) return;
    const std::uint32_t count = call.write_counts[i];
    note(found, filling(std::span(call.write_segments).subspan(at, count), returned));
    at += count;
  });
  return found;
}

// Returns whether data was written that is missing from the Reply's Write list.
bool drops_written_chunk(const Call& call, const Message& reply) {
  return std::any_of(call.chunks.begin(), call.chunks.end(), [&](const CallChunk& chunk) {
    return chunk.list == ChunkList::kWrite && chunk.index >= reply.write_counts.size() &&
           chunk.moved != 0;
  });
}

Incomplete unfit_call(const Message& m) {
  if (is_external(m) != has_position_zero(m)) {
    return is_external(m) ? Incomplete::kNoChunk : Incomplete::kTwoMessages;
  }
  return Incomplete::kNo;
}

Incomplete unfit_reply(const Message& m, const Call* call) {
  const bool read = has_position_zero(m);
  if (is_external(m) && !read && reply_chunk_length(m) == 0) return Incomplete::kNoChunk;
  if (read && (!is_external(m) || reply_chunk_length(m) != 0)) return Incomplete::kTwoMessages;
  if (call == nullptr) return Incomplete::kNo;
  if (is_external(m)) {
    const Incomplete found = filling(call->message.reply_segments, m.reply_segments);
    if (found != Incomplete::kNo) return found;
  }
  if (drops_written_chunk(*call, m)) return Incomplete::kNotReturned;
  return write_list_filling(call->message, m);
}

// DDP-eligible items of the results, and the length of the RPC header in front of them.
struct ResultItems {
  std::array<decode::DdpItem, kMaxItems> items;
  std::size_t count = 0;
  std::uint32_t rpc_length = 0;
};

ResultItems result_items(const Call& call, const Message& reply,
                         const std::vector<std::uint8_t>& reduced,
                         const std::vector<std::uint64_t>& lengths) {
  ResultItems r;
  const auto rpc = wire::decode_rpc(reduced);
  if (!rpc || !call.message.rpc.known) return r;
  r.rpc_length = rpc->length;
  const RpcInfo& id = call.message.rpc;
  const auto reads = removed_from_body(reply.reads, rpc->length);
  r.count = decode::find_result_items({id.program, id.version, id.procedure},
                                      wire::Bytes(reduced).subspan(rpc->length), lengths, r.items,
                                      nullptr, {}, reads);
  return r;
}

// Builds a message from its reduced stream: copies this and inserts the data of chunks.
class Builder {
 public:
  Builder(const std::vector<CallChunk>& chunks, ChunkList reads, std::vector<std::uint8_t>& reduced,
          Rebuilt& result)
      : reduced_(reduced), result_(result) {
    for_each_placed(chunks, reads, [&](const CallChunk& chunk) { reads_.push_back(&chunk); });
  }

  // Copies the stream up to `end`, with the Read chunks that belong there. Positions count in the
  // message being built.
  void copy(std::size_t end) {
    while (next_ != reads_.size()) {
      const std::uint32_t position = reads_[next_]->position;
      const std::size_t built = result_.bytes.size();
      const bool behind = position >= built;
      if (behind && position - built > end - used_) break;
      const bool fits = behind && position % 4 == 0;
      if (!fits) {
        note(result_.incomplete, Incomplete::kPosition);
      } else {
        copy_bytes(used_ + (position - built));
      }
      insert_reads(position, fits);
    }
    copy_bytes(end);
  }

  void insert_written(const CallChunk& chunk, std::uint64_t length) {
    append_chunk(result_.bytes, chunk, length, result_.incomplete);
    append_roundup(result_.bytes, length);
  }

  void finish() {
    copy(reduced_.size());
    if (next_ != reads_.size()) note(result_.incomplete, Incomplete::kPosition);
  }

  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  void copy_bytes(std::size_t end) {
    append(result_.bytes, wire::Bytes(reduced_).subspan(used_, end - used_));
    used_ = end;
  }

  // All chunks of this Position, which are one item.
  void insert_reads(std::uint32_t position, bool fits) {
    std::uint64_t length = 0;
    for (; next_ != reads_.size() && reads_[next_]->position == position; ++next_) {
      if (!fits) continue;
      append_chunk(result_.bytes, *reads_[next_], reads_[next_]->length, result_.incomplete);
      length += reads_[next_]->length;
    }
    append_roundup(result_.bytes, length);
  }

  const std::vector<std::uint8_t>& reduced_;
  Rebuilt& result_;
  std::vector<const CallChunk*> reads_;  // by Position
  std::size_t next_ = 0;
  std::size_t used_ = 0;  // bytes of the stream
};

// Size of the data of all its chunks, with room for roundup.
std::size_t held(const Call& call) {
  std::size_t sum = 0;
  for (const CallChunk& chunk : call.chunks) sum += chunk.data.held() + sizeof(std::uint32_t);
  return sum;
}

}  // namespace

Incomplete unfit_for_rebuild(const Message& m, const Call* call) {
  if (m.kind != Kind::kCall && m.kind != Kind::kReply) return Incomplete::kNo;
  if (is_absent(m, roce::kAbsentBytes)) return Incomplete::kNoBytes;
  if (m.header_length == 0) return Incomplete::kNotSeen;
  if (may_be_padded(m)) return Incomplete::kPadded;
  if (m.last_part && m.complete) return Incomplete::kOtherParts;
  return m.kind == Kind::kCall ? unfit_call(m) : unfit_reply(m, call);
}

const char* incomplete_reason(Incomplete why, const roce::Connection* connection) {
  const bool recorded = connection != nullptr && connection->recorded;
  const char* const missing =
      recorded ? "incomplete in the recording" : "incomplete in the capture";
  switch (why) {
    case Incomplete::kNo:
      return nullptr;
    case Incomplete::kNotSeen:
      return missing;
    case Incomplete::kNoBytes:
      return "the source has no bytes of messages";
    case Incomplete::kNotMoved:
      return recorded || (connection != nullptr && losses(*connection) != 0)
                 ? missing
                 : "RDMA operations moved only a part of it";
    case Incomplete::kNotKept:
      return "too much data was in flight to keep all of it";
    case Incomplete::kPadded:
      return "padded by RDMA_MSGP, not rebuilt";
    case Incomplete::kOtherParts:
      return "parts of it are in other Sends and are not joined";
    case Incomplete::kReplyReads:
      return "the Read chunks of the Reply were not read";
    case Incomplete::kNoChunk:
      return "no chunk holds the message";
    case Incomplete::kTwoMessages:
      return "both a Position Zero Read chunk and an inline message";
    case Incomplete::kPosition:
      return "the Position of a Read chunk is outside the message";
    case Incomplete::kGap:
      return "the responder left a gap in a chunk";
    case Incomplete::kOverrun:
      return "the responder returned more than a segment holds";
    case Incomplete::kNotReturned:
      return "the Reply does not return a Write chunk that was written";
    case Incomplete::kNoPlace:
      return "the place of a Write chunk's data is not known";
  }
  return nullptr;
}

std::vector<std::uint8_t> inline_message(const Message& m) {
  if (m.header_length > m.bytes.size()) return {};
  return decode::without_padding(wire::Bytes(m.bytes).subspan(m.header_length), m.padding);
}

Rebuilt rebuild_call(const Call& call) {
  Rebuilt result;
  result.incomplete = unfit_for_rebuild(call.message, nullptr);
  std::vector<std::uint8_t> reduced;
  note(result.incomplete, reduced_call(call, reduced));
  result.bytes.reserve(reduced.size() + held(call));
  Builder(call.chunks, ChunkList::kRead, reduced, result).finish();
  return result;
}

ReducedArguments reduced_arguments(const Call& call) {
  ReducedArguments result;
  if (may_be_padded(call.message)) return result;
  std::vector<std::uint8_t> reduced;
  (void)reduced_call(call, reduced);
  const auto rpc = wire::decode_rpc(reduced);
  if (!rpc) return result;
  result.arguments.assign(reduced.begin() + rpc->length, reduced.end());
  result.removed = removed_by_reads(call, rpc->length);
  return result;
}

namespace {

// The length that the count word at the end of `reduced`, cut where the chunk belongs, gives it:
// without roundup.
std::uint64_t counted_length(wire::Bytes reduced, std::uint64_t place, const CallChunk& chunk) {
  if (place < 4 || place > reduced.size()) return chunk.length;
  const std::uint32_t count = wire::load_be32(reduced.data() + place - 4);
  return count < chunk.length && wire::xdr_padded(count) == chunk.length ? count : chunk.length;
}

// Bytes of the Read chunks of its list in front of it.
std::uint64_t bytes_before(const Call& call, const CallChunk& chunk) {
  std::uint64_t taken = 0;
  bool before = true;
  for_each_placed(call.chunks, chunk.list, [&](const CallChunk& other) {
    before = before && &other != &chunk;
    if (before) taken += wire::xdr_padded(other.length);
  });
  return taken;
}

std::uint64_t reply_read_length(const Call& call, const CallChunk& chunk, const Message& reply) {
  if (chunk.position == 0 || may_be_padded(reply)) return chunk.length;
  std::vector<std::uint8_t> reduced;
  (void)reduced_reply(call, reply, reduced);
  std::uint64_t taken = bytes_before(call, chunk);
  const auto lengths = returned_lengths(reply);
  if (std::any_of(lengths.begin(), lengths.end(), [](auto n) { return n != 0; })) {
    const ResultItems found = result_items(call, reply, reduced, lengths);
    for (const decode::DdpItem& item : std::span(found.items).first(found.count)) {
      const std::uint64_t data = found.rpc_length + std::uint64_t{item.count_offset} + 4;
      if (item.chunk >= 0 && data + taken < chunk.position) taken += wire::xdr_padded(item.length);
    }
  }
  if (chunk.position < taken) return chunk.length;
  return counted_length(reduced, chunk.position - taken, chunk);
}

}  // namespace

std::uint64_t read_payload_length(const Call& call, const CallChunk& chunk) {
  if (is_position_zero(chunk) || may_be_padded(call.message)) return chunk.length;
  std::vector<std::uint8_t> reduced;
  (void)reduced_call(call, reduced);
  const std::uint64_t taken = bytes_before(call, chunk);
  if (chunk.position < taken) return chunk.length;
  return counted_length(reduced, chunk.position - taken, chunk);
}

std::uint64_t result_payload_length(const Call& call, const CallChunk& chunk,
                                    const Message& reply) {
  if (chunk.list == ChunkList::kReply) return reply_chunk_length(reply);
  if (chunk.list == ChunkList::kReplyRead) return reply_read_length(call, chunk, reply);
  const auto lengths = returned_lengths(reply);
  if (chunk.index >= lengths.size()) return 0;
  const std::uint64_t returned = lengths[chunk.index];
  if (may_be_padded(reply) || (!reply.reads.empty() && call.reply == nullptr)) return returned;
  std::vector<std::uint8_t> reduced;
  (void)reduced_reply(call, reply, reduced);
  const ResultItems found = result_items(call, reply, reduced, lengths);
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
  result.incomplete = unfit_for_rebuild(reply, &call);
  std::vector<std::uint8_t> reduced;
  note(result.incomplete, reduced_reply(call, reply, reduced));

  if (!reply.reads.empty() && call.reply == nullptr) {
    note(result.incomplete, Incomplete::kReplyReads);
  }

  const auto lengths = returned_lengths(reply);
  const bool any = std::any_of(lengths.begin(), lengths.end(), [](auto n) { return n != 0; });
  const ResultItems found = any ? result_items(call, reply, reduced, lengths) : ResultItems{};
  result.bytes.reserve(reduced.size() + held(call));
  Builder builder(call.chunks, ChunkList::kReplyRead, reduced, result);
  std::size_t chunks_placed = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const decode::DdpItem& item = found.items[i];
    if (item.chunk < 0) continue;
    const std::size_t end = found.rpc_length + item.count_offset + 4;
    if (end < builder.used() || end > reduced.size()) {
      note(result.incomplete, Incomplete::kNoPlace);
      continue;
    }
    builder.copy(end);
    result.guessed |= item.guessed;
    for (const CallChunk& chunk : call.chunks) {
      if (chunk.list == ChunkList::kWrite &&
          chunk.index == static_cast<std::uint32_t>(item.chunk)) {
        // RFC 5666 peers count roundup in the returned length; the item's own count is exact.
        builder.insert_written(chunk, item.length);
        ++chunks_placed;
      }
    }
  }
  builder.finish();
  const auto with_data = static_cast<std::size_t>(
      std::count_if(lengths.begin(), lengths.end(), [](auto l) { return l != 0; }));
  if (chunks_placed < with_data) note(result.incomplete, Incomplete::kNoPlace);
  return result;
}

}  // namespace rpcrdma::model
