#include "reduction.h"

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::model {

std::vector<decode::Removed> removed_by_reads(const Call& call, std::uint32_t rpc_length) {
  std::vector<decode::Removed> removed;
  std::uint64_t taken = 0;
  for (const CallChunk& chunk : call.chunks) {
    if (chunk.list != ChunkList::kRead || chunk.position == 0) continue;
    if (chunk.position < taken + rpc_length) continue;
    removed.push_back(
        {static_cast<std::uint32_t>(chunk.position - taken - rpc_length), chunk.length});
    taken += wire::xdr_padded(chunk.length);
  }
  return removed;
}

void note_counts(Call& call, wire::Bytes rpc_message) {
  std::uint64_t taken = 0;
  for (CallChunk& chunk : call.chunks) {
    if (chunk.list != ChunkList::kRead || chunk.position == 0) continue;
    // Out of order: no place is certain.
    if (chunk.position < taken + 4) return;
    const std::uint64_t at = chunk.position - taken;
    if (at > rpc_message.size()) return;
    const std::uint32_t count = wire::load_be32(rpc_message.data() + at - 4);
    if (chunk.length == count || chunk.length == wire::xdr_padded(count)) chunk.count = count;
    taken += wire::xdr_padded(chunk.length);
  }
}

}  // namespace rpcrdma::model
