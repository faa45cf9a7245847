#include "chunk_writer.h"

#include <algorithm>

namespace rpcrdma::protocol {

void ChunkWriter::clear() {
  source_count_ = transfer_count_ = 0;
  transfer_ = source_ = source_at_ = segment_ = segment_at_ = 0;
  given_ = 0;
}

void ChunkWriter::begin(const ChunkRange& chunk) {
  transfers_[transfer_count_++] = {chunk, source_count_};
}

void ChunkWriter::add(const fabric::Slice& source) {
  if (source.length == 0) return;
  sources_[source_count_++] = source;
  transfers_[transfer_count_ - 1].sources_end = source_count_;
}

bool ChunkWriter::next(std::span<const wire::Segment> segments, std::uint32_t most,
                       WorkRequest& work) {
  while (transfer_ < transfer_count_ && source_ == transfers_[transfer_].sources_end) {
    ++transfer_;
    segment_ = segment_at_ = 0;
  }
  if (transfer_ == transfer_count_) return false;
  given_ = static_cast<std::uint16_t>((given_ + 1U) % WorkId::kParts);
  const Transfer& t = transfers_[transfer_];
  while (segments[t.chunk.first + segment_].length == segment_at_) {
    ++segment_;
    segment_at_ = 0;
  }
  const wire::Segment& segment = segments[t.chunk.first + segment_];
  work.request.operation = fabric::Operation::kWrite;
  work.request.remote_handle = segment.handle;
  work.request.remote_offset = segment.offset + segment_at_;
  work.request.signaled = given_ % kUnsignaledRun == 0;
  std::uint32_t left = std::min(most, segment.length - segment_at_);
  while (source_ < t.sources_end && left != 0 && work.slice_count < fabric::kMaxSlices) {
    const fabric::Slice& from = sources_[source_];
    const std::uint32_t bytes = std::min(from.length - source_at_, left);
    left -= bytes;
    work.slices[work.slice_count++] = {from.data + source_at_, bytes, from.local_key};
    segment_at_ += bytes;
    source_at_ += bytes;
    if (source_at_ != from.length) continue;
    ++source_;
    source_at_ = 0;
  }
  return true;
}

}  // namespace rpcrdma::protocol
