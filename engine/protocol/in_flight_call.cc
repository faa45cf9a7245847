#include "in_flight_call.h"

#include <algorithm>

namespace rpcrdma::protocol {

namespace {

void give_back(MemoryPool& pool, Block& block) {
  if (block) pool.release(block);
  block = {};
}

}  // namespace

void InFlightCall::start(std::uint32_t of_call) {
  used = true;
  call = of_call;
  send_bytes = 0;
  sent = false;
  version = kVersionOne;
  inv_handle = 0;
  segment_count = read_segments = write_chunks = reply_segments = 0;
  next_fence = fencing = 0;
  copy_count = 0;
  pull = kNoSlot;
}

bool InFlightCall::nothing_to_fence() const {
  return std::none_of(valid.begin(), valid.begin() + segment_count, [](bool v) { return v; });
}

bool InFlightCall::drop_handle(std::uint32_t handle) {
  for (std::uint32_t i = 0; i < segment_count; ++i) {
    if (!valid[i] || segments[i].handle != handle) continue;
    valid[i] = false;
    return true;
  }
  return false;
}

OfferedChunks InFlightCall::offered() const {
  OfferedChunks o;
  o.segments = std::span(segments).first(segment_count).subspan(read_segments);
  std::copy_n(write_segments.begin(), write_chunks, o.write_segments.begin());
  o.write_chunks = write_chunks;
  o.reply_segments = reply_segments;
  o.version = version;
  o.inv_handle = inv_handle;
  o.reply_memory = reply.data;
  return o;
}

void InFlightCall::give_blocks(MemoryPool& pool) {
  for (std::uint32_t i = 0; i < copy_count; ++i) give_back(pool, copies[i]);
  copy_count = 0;
  give_back(pool, reply);
  give_back(pool, received);
}

void InFlightCall::give_send(MemoryPool& pool) {
  give_back(pool, send);
}

}  // namespace rpcrdma::protocol
