#include "reduction.h"

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

}  // namespace rpcrdma::model
