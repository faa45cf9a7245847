#include <algorithm>

#include <rpcrdma/model/chunk_data.h>

namespace rpcrdma::model {

namespace {

// Bytes that may be moved per byte held, and the bytes that may be moved in any case: segments that
// arrive in any order stay far below these limits.
constexpr std::uint64_t kMovesEach = 16;
constexpr std::uint64_t kMovesFree = std::uint64_t{1} << 20;

}  // namespace

bool ChunkData::may_move(std::size_t bytes) {
  if (moved_ + bytes > kMovesFree + kMovesEach * held_) {
    refused_ = true;
    return false;
  }
  moved_ += bytes;
  return true;
}

std::size_t ChunkData::store(std::uint64_t offset, std::span<const std::uint8_t> data) {
  if (data.empty()) return 0;
  const std::uint64_t end = offset + data.size();
  if (end < offset) return 0;
  // Packets come in order, so this nearly always extends the last extent.
  if (!extents_.empty()) {
    Extent& last = extents_.back();
    if (last.offset + last.bytes.size() == offset) {
      last.bytes.insert(last.bytes.end(), data.begin(), data.end());
      held_ += data.size();
      return data.size();
    }
  }
  auto first = std::lower_bound(
      extents_.begin(), extents_.end(), offset,
      [](const Extent& e, std::uint64_t v) { return e.offset + e.bytes.size() < v; });
  auto after = first;
  while (after != extents_.end() && after->offset <= end) ++after;
  std::size_t moves = static_cast<std::size_t>(extents_.end() - after) * sizeof(Extent);
  if (first != after) {
    if (offset < first->offset) moves += first->bytes.size();
    for (auto e = first + 1; e != after; ++e) moves += e->bytes.size();
  }
  if (!may_move(moves)) return 0;
  Extent merged;
  if (first == after) {
    merged.offset = offset;
    merged.bytes.assign(data.begin(), data.end());
    held_ += data.size();
    extents_.insert(first, std::move(merged));
    return data.size();
  }
  // Joins all extents that the data touches.
  const std::uint64_t begin = std::min(offset, first->offset);
  const Extent& last = *(after - 1);
  const std::uint64_t joined_end = std::max(end, last.offset + last.bytes.size());
  std::size_t before = 0;
  merged.offset = begin;
  merged.bytes = std::move(first->bytes);
  before += merged.bytes.size();
  if (begin < first->offset) {
    merged.bytes.insert(merged.bytes.begin(), static_cast<std::size_t>(first->offset - begin), 0);
  }
  merged.bytes.resize(static_cast<std::size_t>(joined_end - begin));
  for (auto e = first + 1; e != after; ++e) {
    before += e->bytes.size();
    std::copy(e->bytes.begin(), e->bytes.end(),
              merged.bytes.begin() + static_cast<std::ptrdiff_t>(e->offset - begin));
  }
  std::copy(data.begin(), data.end(),
            merged.bytes.begin() + static_cast<std::ptrdiff_t>(offset - begin));
  const std::size_t grown = merged.bytes.size() - before;
  *first = std::move(merged);
  extents_.erase(first + 1, after);
  held_ += grown;
  return grown;
}

std::vector<std::uint8_t> ChunkData::prefix(std::uint64_t length) const {
  const auto h = head();
  const auto n = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(length, h.size()));
  return {h.begin(), h.begin() + n};
}

std::span<const std::uint8_t> ChunkData::head() const {
  if (extents_.empty() || extents_.front().offset != 0) return {};
  return extents_.front().bytes;
}

bool ChunkData::covers(std::uint64_t length) const {
  return head().size() >= length;
}

void ChunkData::clear() {
  *this = ChunkData();
}

}  // namespace rpcrdma::model
