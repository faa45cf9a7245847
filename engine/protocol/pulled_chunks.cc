#include "pulled_chunks.h"

#include <algorithm>

namespace rpcrdma::protocol {
namespace {

constexpr std::uint32_t aligned(std::uint32_t bytes) {
  constexpr std::uint32_t kAlignment = 8;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::uint64_t chunk_block_bytes(const CheckedReads& message) {
  std::uint64_t sum = 0;
  for (const ReadChunk& c : message.reads) sum += aligned(c.bytes);
  return sum;
}

void PulledChunks::place(const CheckedReads& message) {
  next_segment = segment_at = chunk = chunk_at = block_at = 0;
  reads = 0;
  items.clear();
  if (!message.is_long) stream = message.payload;
  std::uint32_t at = 0;
  for (const ReadChunk& c : message.reads) {
    const wire::Bytes bytes{block.data + at, c.bytes};
    if (message.is_long && at == 0) {
      stream = bytes;
    } else {
      items.push_back({c.position, bytes, block.memory});
    }
    at += aligned(c.bytes);
  }
}

wire::Bytes PulledChunks::content(const CheckedReads& message, std::uint32_t n) const {
  if (!message.is_long) return items[n].bytes;
  return n == 0 ? stream : items[n - 1].bytes;
}

bool PulledChunks::next_read(const CheckedReads& message, std::uint32_t most, WorkRequest& work) {
  const ReadChunk& c = message.reads[chunk];
  const wire::Segment& segment = message.segments[next_segment];
  const std::uint32_t bytes = std::min(most, segment.length - segment_at);
  work.request.operation = fabric::Operation::kRead;
  work.request.remote_handle = segment.handle;
  work.request.remote_offset = segment.offset + segment_at;
  work.slices[0] = block.slice(bytes, block_at + chunk_at);
  work.slice_count = 1;
  reads = static_cast<std::uint16_t>((reads + 1U) % WorkId::kParts);
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
  const bool pauses = all_read(message) || reads % kUnsignaledRun == 0;
  work.request.signaled = pauses;
  return pauses;
}

}  // namespace rpcrdma::protocol
