#include "transport_fields.h"

#include <cinttypes>

namespace rpcrdma::decode {
namespace {

void segment_fields(const FieldWriter& out, std::size_t offset, const wire::Segment& segment) {
  out.word(FieldId::kSegmentHandle, offset, segment.handle);
  out.word(FieldId::kSegmentLength, offset + 4, segment.length);
  out.number(FieldId::kSegmentOffset, offset + 8, 8, segment.offset);
}

Summary& describe_segment(Summary& summary, const wire::Segment& segment) {
  return summary.add("%" PRIu32 " byte%s at 0x%016" PRIx64 ", handle 0x%08" PRIx32, segment.length,
                     plural(segment.length), segment.offset, segment.handle);
}

Summary describe_chunk(std::uint64_t bytes, std::uint32_t segments) {
  Summary summary;
  summary.add("%" PRIu64 " byte%s in %" PRIu32 " segment%s", bytes, plural(bytes), segments,
              plural(segments));
  return summary;
}

// Reports the entries [first, end) of the list, which share one Position.
void read_chunk(const FieldWriter& out, std::size_t offset, const wire::ReadListView& reads,
                std::uint32_t first, std::uint32_t end) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = first; i < end; ++i) bytes += reads[i].target.length;
  Summary summary = describe_chunk(bytes, end - first);
  summary.add(" at Position %" PRIu32, reads[first].position);

  out.open(FieldId::kReadChunk, offset, (end - first) * wire::kReadEntryBytes, summary.view());
  for (std::uint32_t i = first; i < end; ++i, offset += wire::kReadEntryBytes) {
    const wire::ReadSegment entry = reads[i];
    Summary line;
    out.open(FieldId::kSegment, offset + kWordBytes, wire::kReadEntryBytes - kWordBytes,
             describe_segment(line, entry.target).view());
    out.word(FieldId::kReadPosition, offset + kWordBytes, entry.position);
    segment_fields(out, offset + 2 * kWordBytes, entry.target);
    out.close();
  }
  out.close();
}

// `offset` is the offset of the count word.
std::size_t chunk_segments(const FieldWriter& out, std::size_t offset, FieldId chunk_id,
                           FieldId count_id, const wire::WriteChunkView& chunk) {
  const std::size_t length = kWordBytes + chunk.size() * wire::kSegmentBytes;
  out.open(chunk_id, offset, length,
           describe_chunk(wire::total_length(chunk), chunk.size()).view());
  out.word(count_id, offset, chunk.size());
  std::size_t at = offset + kWordBytes;
  for (const wire::Segment segment : chunk) {
    Summary line;
    out.open(FieldId::kSegment, at, wire::kSegmentBytes, describe_segment(line, segment).view());
    segment_fields(out, at, segment);
    out.close();
    at += wire::kSegmentBytes;
  }
  out.close();
  return offset + length;
}

}  // namespace

std::size_t read_list(const FieldWriter& out, std::size_t offset, FieldId count_id,
                      const wire::ReadListView& reads) {
  const std::size_t length = reads.size() * wire::kReadEntryBytes + kWordBytes;
  out.number(count_id, offset, length, reads.size());
  for (std::uint32_t first = 0; first < reads.size();) {
    std::uint32_t end = first + 1;
    while (end < reads.size() && reads[end].position == reads[first].position) ++end;
    read_chunk(out, offset + first * wire::kReadEntryBytes, reads, first, end);
    first = end;
  }
  return offset + length;
}

std::size_t write_list(const FieldWriter& out, std::size_t offset,
                       const wire::WriteListView& writes) {
  std::size_t end = offset + kWordBytes;
  for (const wire::WriteChunkView chunk : writes) {
    end += 2 * kWordBytes + chunk.size() * wire::kSegmentBytes;
  }
  out.number(FieldId::kWriteCount, offset, end - offset, writes.size());
  std::size_t at = offset;
  for (const wire::WriteChunkView chunk : writes) {
    at = chunk_segments(out, at + kWordBytes, FieldId::kWriteChunk, FieldId::kWriteSegments, chunk);
  }
  return end;
}

void reply_chunk(const FieldWriter& out, std::size_t offset,
                 const std::optional<wire::WriteChunkView>& chunk) {
  out.number(FieldId::kReplyPresent, offset, kWordBytes, chunk.has_value() ? 1 : 0);
  if (chunk) {
    chunk_segments(out, offset + kWordBytes, FieldId::kReplyChunk, FieldId::kReplyCount, *chunk);
  }
}

}  // namespace rpcrdma::decode
