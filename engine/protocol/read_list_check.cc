#include "read_list_check.h"

#include <algorithm>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::protocol {
namespace {

using wire::xdr_padded;

// For a segment with content, offset + length may be 2^64 but not more (RD-09).
constexpr std::uint64_t last_byte(const wire::Segment& segment) {
  return segment.offset + (segment.length - 1);
}
bool wraps(const wire::Segment& segment) {
  return segment.length != 0 && last_byte(segment) < segment.offset;
}

class ReadListChecker {
 public:
  ReadListChecker(const wire::HeaderView& header, const ReadLimits& limits, CheckedReads& message)
      : header_(header), limits_(limits), message_(message) {}

  Refusal run() {
    if (const Refusal bad = read_list()) return bad;
    if (const Refusal bad = stream()) return bad;
    return positions();
  }

 private:
  Refusal read_list() {
    for (const wire::ReadSegment read : header_.reads) {
      if (read.position % 4 != 0) return {"RD-02", "a Position is not a multiple of 4"};
      if (read.target.length == 0) return {"RD-08", "a Read segment has no bytes"};
      message_.read_bytes += read.target.length;
      if (message_.read_bytes > std::min(limits_.bytes, kMaxMessageBytes)) {
        return {"", "the Read chunks are longer than is accepted"};
      }
      if (const Refusal bad = add_segment(read.target, limits_.segments, message_)) return bad;
      if (overlaps_one_before()) return {"RD-09", "two Read segments of one handle overlap"};
      if (const Refusal bad = join(read)) return bad;
    }
    return {};
  }

  // Every segment so far belongs to the Read list, and the last is the new one.
  [[nodiscard]] bool overlaps_one_before() const {
    const std::span known = std::span(message_.segments).first(message_.segment_count);
    const wire::Segment& added = known.back();
    return std::ranges::any_of(known.first(known.size() - 1), [&](const wire::Segment& other) {
      return other.handle == added.handle && other.offset <= last_byte(added) &&
             added.offset <= last_byte(other);
    });
  }

  // Adds the segment to its chunk: that of the preceding entry, or a new one.
  Refusal join(const wire::ReadSegment& read) {
    if (message_.read_count != 0) {
      ReadChunk& last = message_.reads[message_.read_count - 1];
      if (read.position == last.position) {
        last.bytes += read.target.length;
        ++last.segments.count;
        return {};
      }
      if (read.position < last.position) return {"RD-03", "the Positions decrease"};
    }
    message_.reads[message_.read_count++] = {
        read.position, read.target.length, {message_.segment_count - 1, 1}};
    return {};
  }

  Refusal stream() {
    const bool position_zero = message_.read_count != 0 && message_.reads[0].position == 0;
    if (message_.is_long && !position_zero) {
      return {"RD-04", "an RDMA_NOMSG has no Position Zero Read chunk"};
    }
    if (!message_.is_long && position_zero) {
      return {"RD-04", "an RDMA_MSG has a Position Zero Read chunk"};
    }
    stream_bytes_ = message_.is_long ? message_.reads[0].bytes : message_.payload.size();
    if (stream_bytes_ < kLeastStreamBytes) {
      return {"HDR-07", "the stream ends before the XID and msg_type do"};
    }
    return {};
  }

  // Checks the other Read chunks' positions in the unreduced stream, in 64 bits.
  Refusal positions() {
    std::uint64_t end = 0;     // of the preceding chunk
    std::uint64_t chunks = 0;  // bytes of all preceding chunks, with roundup
    for (const ReadChunk& chunk : message_.read_chunks()) {
      if (chunk.position == 0) continue;
      if (chunk.position < end) return {"RD-06", "two Read chunks overlap in the stream"};
      if (chunk.position - chunks > stream_bytes_) {
        return {"RD-05", "a Position lies beyond the stream"};
      }
      end = chunk.position + xdr_padded(chunk.bytes);
      chunks += xdr_padded(chunk.bytes);
    }
    if (stream_bytes_ + chunks > kMaxMessageBytes) {
      return {"", "the message has 2 GiB or more"};
    }
    return {};
  }

  const wire::HeaderView& header_;
  const ReadLimits& limits_;
  CheckedReads& message_;
  std::uint64_t stream_bytes_ = 0;  // without the content of Read chunks
};

}  // namespace

Refusal check_read_list(const wire::HeaderView& header, wire::Bytes payload,
                        const ReadLimits& limits, CheckedReads& message) {
  message.is_long = header.proc == wire::Proc::kNomsg;
  message.payload = payload;
  message.padding = {};
  message.read_count = 0;
  message.segment_count = 0;
  message.read_bytes = 0;
  return ReadListChecker(header, limits, message).run();
}

Refusal add_segment(const wire::Segment& segment, std::uint32_t most, CheckedReads& message) {
  if (message.segment_count >= std::min<std::size_t>(most, kMaxSegments)) {
    return {"", "the chunks have more segments than are accepted"};
  }
  if (wraps(segment)) return {"RD-09", "a segment's offset + length passes 2^64"};
  message.segments[message.segment_count++] = segment;
  return {};
}

}  // namespace rpcrdma::protocol
