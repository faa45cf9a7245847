// Computes where Read chunks removed data from a Call's arguments.
#pragma once

#include <algorithm>
#include <vector>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/call.h>

namespace rpcrdma::model {

// Visits the Read chunks of `list` except Position Zero by their Positions: a sender may list them
// in any order.
// `Chunks`: std::vector<CallChunk>, const or not.
template <typename Chunks, typename Function>
void for_each_placed(Chunks& chunks, ChunkList list, Function&& f) {
  const auto placed = [list](const CallChunk& c) { return c.list == list && c.position != 0; };
  std::uint32_t latest = 0;
  bool ordered = true;
  for (const CallChunk& c : chunks) {
    if (!placed(c)) continue;
    ordered &= c.position >= latest;
    latest = c.position;
  }
  if (ordered) {
    for (auto& c : chunks) {
      if (placed(c)) f(c);
    }
    return;
  }
  std::vector<decltype(&chunks.front())> sorted;
  for (auto& c : chunks) {
    if (placed(c)) sorted.push_back(&c);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->position < b->position; });
  for (auto* const c : sorted) f(*c);
}

// Positions count in the unreduced RPC message; upper-layer parsers need offsets in the reduced
// arguments, after an RPC header of `rpc_length` bytes. If Positions contradict each other, the
// list ends with an offset that no item has, at which parsers stop.
[[nodiscard]] std::vector<decode::Removed> removed_by_reads(const Call& call,
                                                            std::uint32_t rpc_length);

// What Read chunks removed from the arguments or results of a message, which begin `rpc_length`
// bytes behind the beginning of its RPC message: offsets in the whole body, in order.
[[nodiscard]] std::vector<decode::Removed> removed_from_body(
    const std::vector<wire::ReadSegment>& reads, std::uint32_t rpc_length);

// Sets CallChunk::count of the Call's Read chunks. `rpc_message` is reduced.
void note_counts(Call& call, wire::Bytes rpc_message);

}  // namespace rpcrdma::model
