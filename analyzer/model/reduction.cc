#include "reduction.h"

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::model {

std::vector<decode::Removed> removed_by_reads(const Call& call, std::uint32_t rpc_length) {
  std::vector<decode::Removed> removed;
  std::uint64_t taken = rpc_length;  // subtracted from Positions: bytes not in the arguments
  std::uint64_t end = rpc_length;    // end of the previous chunk, as a Position
  std::uint32_t previous = 0;
  bool contradicts = false;
  for_each_placed(call.chunks, ChunkList::kRead, [&](const CallChunk& chunk) {
    if (contradicts) return;
    if (chunk.position == previous) {  // one chunk whose segments are listed separately
      decode::Removed& joined = removed.back();
      taken -= wire::xdr_padded(joined.length);
      joined.length += chunk.length;
      taken += wire::xdr_padded(joined.length);
    } else if (chunk.position < end) {
      contradicts = true;
      removed.push_back({removed.empty() ? 0 : removed.back().offset + 1, 1});
      return;
    } else {
      removed.push_back({static_cast<std::uint32_t>(chunk.position - taken), chunk.length});
      taken += wire::xdr_padded(chunk.length);
      previous = chunk.position;
    }
    end = previous + wire::xdr_padded(removed.back().length);
  });
  return removed;
}

std::vector<decode::Removed> removed_from_body(const std::vector<wire::ReadSegment>& reads,
                                               std::uint32_t rpc_length) {
  std::vector<wire::ReadSegment> placed = reads;
  std::erase_if(placed, [=](const auto& r) { return r.position < rpc_length || r.position == 0; });
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.position < b.position; });
  std::vector<decode::Removed> removed;
  for (const wire::ReadSegment& r : placed) {
    const std::uint32_t offset = r.position - rpc_length;
    if (removed.empty() || removed.back().offset != offset) removed.push_back({offset, 0});
    removed.back().length += r.target.length;
  }
  return removed;
}

void note_counts(Call& call, wire::Bytes rpc_message) {
  std::uint64_t taken = 0;
  std::uint64_t end = 0;  // end of the previous chunk
  std::uint32_t previous = 0;
  bool certain = true;
  for_each_placed(call.chunks, ChunkList::kRead, [&](CallChunk& chunk) {
    // No count is certain for a chunk in several places of the list, or inside another chunk.
    certain = certain && chunk.position != previous && chunk.position >= end + 4;
    if (!certain) return;
    const std::uint64_t at = chunk.position - taken;
    certain = at <= rpc_message.size();
    if (!certain) return;
    const std::uint32_t count = wire::load_be32(rpc_message.data() + at - 4);
    if (chunk.length == count || chunk.length == wire::xdr_padded(count)) chunk.count = count;
    taken += wire::xdr_padded(chunk.length);
    end = chunk.position + wire::xdr_padded(chunk.length);
    previous = chunk.position;
  });
}

}  // namespace rpcrdma::model
