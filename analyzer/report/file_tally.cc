#include "file_tally.h"

#include <algorithm>
#include <span>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::report {

namespace {

constexpr std::size_t kMaxRecent = 8192;

// Bytes that RDMA moved, for a Reply that does not state them or was not captured whole.
std::uint64_t moved_by_rdma(const model::Call& call, bool read) {
  std::uint64_t moved = 0;
  for (const model::CallChunk& chunk : call.chunks) {
    const bool data = read ? chunk.list == model::ChunkList::kWrite
                           : chunk.list == model::ChunkList::kRead && chunk.position != 0;
    if (data) moved += chunk.moved;
  }
  return moved;
}

}  // namespace

FileTally::Recent& FileTally::add_recent(std::uint64_t key) {
  if (recent_at_.size() >= kMaxRecent) recent_at_.clear();
  const std::size_t at = recent_at_.size();
  recent_at_[key] = static_cast<std::uint32_t>(at);
  if (at == recent_.size()) return recent_.emplace_back();
  recent_[at].forget();
  return recent_[at];
}

FileTally::Recent& FileTally::find(const model::FileUse& use, const roce::Side& server, Files& to) {
  const std::uint64_t key = std::uint64_t{use.file.slot} << 32 | use.file.generation;
  if (const auto it = recent_at_.find(key); it != recent_at_.end()) return recent_[it->second];
  Recent& recent = add_recent(key);
  const FileKey wanted{server.address.to_string(), *use.handle};
  auto at = to.list.find(wanted);
  if (at == to.list.end() && to.list.size() < kMaxFiles) at = to.list.try_emplace(wanted).first;
  if (at != to.list.end()) recent.stats = &at->second;
  return recent;
}

void FileTally::count_data(const model::Call& call, const model::FileUse& use, Recent& recent,
                           OtherFiles& others) {
  using Access = model::FileUse::Access;
  if (use.access == Access::kOther) return;
  const bool read = use.access == Access::kRead;
  const std::uint64_t moved = use.moved ? *use.moved : moved_by_rdma(call, read);
  if (recent.stats == nullptr) {
    (read ? others.read_bytes : others.written_bytes) += moved;
    return;
  }
  FileStats& stats = *recent.stats;
  (read ? stats.read_bytes : stats.written_bytes) += moved;
  if (use.count) stats.note_size(*use.count);
  if (!use.offset || !use.count) return;
  Range range{*use.offset, *use.offset + *use.count};
  // They are seen in the order of their Replies, so one may come before the one that it continues.
  bool continues = false;
  bool repeats = false;
  for (Range& other : std::span(recent.ranges).first(std::min(recent.seen, recent.ranges.size()))) {
    const bool before = other.begin == range.end;
    repeats |= other.begin == range.begin && other.end == range.end;
    continues |= before || other.end == range.begin;
    if (before && other.alone) ++stats.sequential;
    other.alone &= !before;
  }
  if (repeats) return;
  if (recent.seen != 0) {
    ++stats.compared;
    stats.sequential += continues ? 1 : 0;
    range.alone = !continues;
  }
  recent.ranges[recent.seen++ % recent.ranges.size()] = range;
}

void FileTally::take_name(const model::FileUse& use, Recent& recent) {
  if (use.name().empty() || (use.name() == recent.name && use.below == recent.below)) return;
  recent.name = use.name();
  recent.below = use.below;
  recent.stats->below = use.below;
  recent.stats->name = plot::escape_terminal(recent.name);
}

void FileTally::note_name(const model::Call& call, const roce::Side& server, Files& to) {
  const model::FileUse* const use = call.file_use();
  if (use == nullptr || !use->handle || use->name().empty()) return;
  Recent& recent = find(*use, server, to);
  if (recent.stats != nullptr) take_name(*use, recent);
}

void FileTally::count(const model::Call& call, const model::Message* answer,
                      const roce::Side& server, bool failed, Files& to) {
  using Access = model::FileUse::Access;
  const model::FileUse* const use = call.file_use();
  if (use == nullptr || !use->handle) return;
  Recent& recent = find(*use, server, to);
  if (recent.stats == nullptr) {
    ++to.others.calls;
    return count_data(call, *use, recent, to.others);
  }
  FileStats& stats = *recent.stats;
  const std::int64_t time_ns = call.message.time_ns;
  if (stats.calls() == 0) stats.first_ns = stats.last_ns = time_ns;
  stats.first_ns = std::min(stats.first_ns, time_ns);
  stats.last_ns = std::max(stats.last_ns, time_ns);
  take_name(*use, recent);
  ++(use->access == Access::kRead    ? stats.reads
     : use->access == Access::kWrite ? stats.writes
                                     : stats.other);
  if (answer == nullptr) {
    ++stats.unmatched;
  } else {
    stats.latency.add(answer->time_ns - time_ns);
    if (failed || (answer->rpc.has_status && answer->rpc.status != 0)) ++stats.errors;
  }
  count_data(call, *use, recent, to.others);
}

}  // namespace rpcrdma::report
