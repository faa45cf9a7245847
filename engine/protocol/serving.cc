#include "serving.h"

#include <algorithm>
#include <initializer_list>

namespace rpcrdma::protocol {
namespace {

constexpr std::uint32_t aligned(std::uint32_t bytes) {
  constexpr std::uint32_t kAlignment = 8;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::uint64_t chunk_block_bytes(const CheckedCall& call) {
  std::uint64_t sum = 0;
  for (const ReadChunk& c : call.read_chunks()) sum += aligned(c.bytes);
  return sum;
}

void Serving::place_chunks() {
  next_segment = segment_at = chunk = chunk_at = block_at = 0;
  reads = 0;
  item_count = 0;
  if (!call.long_call) stream = call.payload;
  std::uint32_t at = 0;
  for (const ReadChunk& c : call.read_chunks()) {
    const wire::Bytes bytes{chunks.data + at, c.bytes};
    if (call.long_call && at == 0) {
      stream = bytes;
    } else {
      items[item_count++] = {c.position, bytes, chunks.memory};
    }
    at += aligned(c.bytes);
  }
}

wire::Bytes Serving::chunk_content(std::uint32_t n) const {
  if (!call.long_call) return items[n].bytes;
  return n == 0 ? stream : items[n - 1].bytes;
}

bool Serving::next_read(std::uint32_t most, WorkRequest& work) {
  const ReadChunk& c = call.reads[chunk];
  const wire::Segment& segment = call.segments[next_segment];
  const std::uint32_t bytes = std::min(most, segment.length - segment_at);
  work.request.operation = fabric::Operation::kRead;
  work.request.remote_handle = segment.handle;
  work.request.remote_offset = segment.offset + segment_at;
  work.slices[0] = chunks.slice(bytes, block_at + chunk_at);
  work.slice_count = 1;
  ++reads;
  chunk_at += bytes;
  segment_at += bytes;
  if (segment_at == segment.length) {
    ++next_segment;
    segment_at = 0;
  }
  if (chunk_at == c.bytes) {
    ++chunk;
    block_at += aligned(c.bytes);
    chunk_at = 0;
  }
  const bool last = chunk == call.read_count;
  work.request.signaled = last;
  return last;
}

void Serving::give_blocks(MemoryPool& pool) {
  for (Block* b : {&received, &chunks, &send, &copies}) {
    if (*b) pool.give(*b);
    *b = {};
  }
}

}  // namespace rpcrdma::protocol
