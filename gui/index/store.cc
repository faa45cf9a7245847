#include <fmt/core.h>

#include <rpcrdma/index/store.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::index {

const char* observer_name(SeenBy observer) {
  switch (observer) {
    case SeenBy::kClient:
      return "client's view";
    case SeenBy::kServer:
      return "server's view";
    case SeenBy::kPackets:
      break;
  }
  return "packets";
}

namespace {

// Returns the parts of a message that its names depend on.
model::Message named(const MessageRow& row) {
  model::Message m;
  m.kind = row.kind;
  m.version = row.version;
  m.proc = row.proc;
  m.dialect = row.dialect;
  m.error = static_cast<wire::RdmaErr>(row.error);
  return m;
}

std::string amount(std::uint32_t bytes, std::uint32_t parts) {
  std::string text = bytes == UINT32_MAX ? "4 GiB or more" : fmt::format("{}", bytes);
  if (parts > 1) text += fmt::format("/{}", parts);
  return text;
}

}  // namespace

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

std::string Content::summary(const MessageRow& row) const {
  const model::Message m = named(row);
  std::string line = fmt::format("{}{} {:#010x} {}", reverse(row) ? "reverse " : "",
                                 model::kind_name(row.kind), row.xid, model::type_name(m));
  if (!row.is(MessageRow::kNoCredit)) line += fmt::format(" credit {}", row.credit);
  if (row.version > 1) line += fmt::format(" v{}", row.version);
  if (row.read_segments != 0) {
    line += " read " + amount(row.read_bytes, row.read_segments);
  }
  if (row.write_chunks != 0) line += " write " + amount(row.write_bytes, row.write_chunks);
  if (row.is(MessageRow::kReplyChunk)) line += " reply " + amount(row.reply_bytes, 1);
  if (row.kind == model::Kind::kError) line += fmt::format(" {}", model::error_name(m));
  if (row.is(MessageRow::kInvalidates)) line += fmt::format(" inv {:#010x}", row.handle);
  if (row.is(MessageRow::kFieldsOnly)) {
    line += " (tracepoints)";
  } else if (!row.is(MessageRow::kComplete)) {
    line += " (incomplete)";
  }
  if (row.is(MessageRow::kSuspect)) line += " (bad ICRC)";
  if (row.procedure != 0) line += " | " + procedures[row.procedure].whole;
  if (row.outcome != 0) line += " | " + outcomes[row.outcome].text;
  if (row.kind == model::Kind::kReply && row.match == 0) line += " | its Call was not seen";
  return line;
}

std::size_t Content::footprint() const {
  std::size_t bytes = rows.footprint() + found.footprint();
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
