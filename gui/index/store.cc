// The parts of the store that are derived from its rows, and its size.
#include <rpcrdma/index/store.h>

namespace rpcrdma::index {

std::size_t Content::sender(const MessageRow& row) const {
  const std::size_t side =
      canonical(row.connection) == row.connection ? row.sender : 1U - row.sender;
  const ConnectionInfo* const c = connection(row.connection);
  return c != nullptr && c->client == 1 ? 1 - side : side;
}

std::uint16_t MessageRow::absent() const {
  std::uint16_t set = 0;
  for (const auto& [flag, bit] : {std::pair{kFieldsOnly, roce::kAbsentBytes},
                                  {kNoCredit, roce::kAbsentCredit},
                                  {kNoLength, roce::kAbsentLengths},
                                  {kNoChunkCounts, roce::kAbsentChunks}}) {
    if (is(flag)) set |= bit;
  }
  return set;
}

model::Credits MessageRow::credits() const {
  return {requested, granted, in_use, !is(kNoRequested), !is(kNoGranted)};
}

bool Content::reverse(const MessageRow& row) const {
  const ConnectionInfo* const c = connection(row.connection);
  if (c == nullptr || c->roles == report::Roles::kUnknown) return false;
  const unsigned caller =
      canonical(row.connection) == row.connection ? row.caller : 1U - row.caller;
  return caller != c->client;
}

std::size_t Content::footprint() const {
  std::size_t bytes = rows.footprint() + found.footprint() + details.footprint();
  for (const std::string& name : files) bytes += sizeof(name) + name.capacity();
  for (const auto& log : credits) {
    if (log != nullptr) bytes += log->footprint();
  }
  for (const auto& sums : chunks) {
    if (sums != nullptr) bytes += sizeof(ChunkSums);
  }
  for (const auto& series : congestion) {
    if (series != nullptr) bytes += sizeof(*series) + series->kBins * sizeof(CongestionBin);
  }
  bytes += marks.capacity() * sizeof(capture::Mark);
  // A node of the table: its key and value, the hash and a pointer.
  bytes += kinds_of.size() * 40 + kinds_of.bucket_count() * sizeof(void*);
  return bytes;
}

}  // namespace rpcrdma::index
