#include "read_list_check.h"

#include <algorithm>

#include <rpcrdma/protocol/refusal_reasons.h>
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

// Up to this many are compared with each other.
constexpr std::size_t kFewSegments = 64;

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
    bool in_order = true;
    std::uint32_t before = 0;
    for (const wire::ReadSegment read : header_.reads) {
      if (read.position % 4 != 0) return {"RD-02", "a Position is not a multiple of 4"};
      if (read.target.length == 0) return {"RD-08", "a Read segment has no bytes"};
      message_.read_bytes += read.target.length;
      if (message_.read_bytes > std::min(limits_.bytes, kMaxMessageBytes)) {
        return {"", kReadsTooLong};
      }
      if (const Refusal bad = add_segment(read.target, limits_.segments, message_)) return bad;
      in_order &= read.position >= before;
      before = read.position;
      join(read);
    }
    if (!in_order) sort();
    if (segments_overlap()) return {"RD-09", "two Read segments of one handle overlap"};
    return {};
  }

  // The segments of a chunk keep their order.
  void sort() {
    std::vector<wire::ReadSegment> list;
    list.reserve(header_.reads.size());
    for (const wire::ReadSegment read : header_.reads) list.push_back(read);
    std::ranges::stable_sort(list, {}, &wire::ReadSegment::position);
    message_.reads.clear();
    message_.segments.clear();
    for (const wire::ReadSegment& read : list) {
      message_.segments.push_back(read.target);
      join(read);
    }
  }

  // Every segment so far belongs to the Read list.
  [[nodiscard]] bool segments_overlap() const {
    const std::span<const wire::Segment> all = message_.segments;
    if (all.size() > kFewSegments) return sorted_overlap({all.begin(), all.end()});
    for (std::size_t i = 1; i < all.size(); ++i) {
      const wire::Segment& added = all[i];
      const bool overlaps = std::ranges::any_of(all.first(i), [&](const wire::Segment& other) {
        return other.handle == added.handle && other.offset <= last_byte(added) &&
               added.offset <= last_byte(other);
      });
      if (overlaps) return true;
    }
    return false;
  }
  static bool sorted_overlap(std::vector<wire::Segment> all) {
    std::ranges::sort(all, [](const wire::Segment& a, const wire::Segment& b) {
      return a.handle != b.handle ? a.handle < b.handle : a.offset < b.offset;
    });
    const auto both = [](const wire::Segment& a, const wire::Segment& b) {
      return a.handle == b.handle && b.offset <= last_byte(a);
    };
    return std::ranges::adjacent_find(all, both) != all.end();
  }

  // Adds the last segment to its chunk: that of the preceding entry, or a new one.
  void join(const wire::ReadSegment& read) {
    if (!message_.reads.empty() && message_.reads.back().position == read.position) {
      message_.reads.back().bytes += read.target.length;
      ++message_.reads.back().segments.count;
      return;
    }
    const auto last = static_cast<std::uint32_t>(message_.segments.size() - 1);
    message_.reads.push_back({read.position, read.target.length, {last, 1}});
  }

  Refusal stream() {
    const bool position_zero = !message_.reads.empty() && message_.reads[0].position == 0;
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
    for (const ReadChunk& chunk : message_.reads) {
      if (chunk.position == 0) continue;
      if (chunk.position < end) return {"RD-06", "two Read chunks overlap in the stream"};
      if (chunk.position - chunks > stream_bytes_ + limits_.elsewhere) {
        return {"RD-05", "a Position lies beyond the stream"};
      }
      end = chunk.position + xdr_padded(chunk.bytes);
      chunks += xdr_padded(chunk.bytes);
    }
    if (stream_bytes_ + limits_.elsewhere + chunks > kMaxMessageBytes) {
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
  message.begin();
  message.is_long = header.proc == wire::Proc::kNomsg;
  message.payload = payload;
  return ReadListChecker(header, limits, message).run();
}

Refusal add_segment(const wire::Segment& segment, std::uint32_t most, CheckedReads& message) {
  if (message.segments.size() >= most) {
    return {"", kTooManySegments};
  }
  if (wraps(segment)) return {"RD-09", "a segment's offset + length passes 2^64"};
  message.segments.push_back(segment);
  return {};
}

}  // namespace rpcrdma::protocol
