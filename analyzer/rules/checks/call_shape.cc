#include "call_shape.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>

namespace rpcrdma::rules {

namespace {

using base::format_bytes;

bool is_bytes(std::size_t measure) {
  return measure >= CallShape::kReadBytes;
}

// "5 Write chunks", "a Reply chunk", "65 segments", "Read chunks of 20 MiB"
std::string amount(std::size_t measure, std::uint64_t n) {
  const auto several = [n](const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  switch (measure) {
    case CallShape::kReadChunks:
      return several("Read chunk");
    case CallShape::kWriteChunks:
      return several("Write chunk");
    case CallShape::kReplyChunks:
      return "a Reply chunk";
    case CallShape::kSegments:
      return several("segment");
    case CallShape::kReadBytes:
      return fmt::format("Read chunks of {}", format_bytes(n));
    case CallShape::kWriteBytes:
      return fmt::format("Write chunks of {}", format_bytes(n));
    default:
      return fmt::format("a Reply chunk of {}", format_bytes(n));
  }
}

std::string range(std::size_t measure, const ShapeRange& r) {
  const std::uint64_t least = r.least.of[measure];
  const std::uint64_t most = r.most.of[measure];
  return least == most || measure == CallShape::kReplyChunks
             ? amount(measure, least)
             : fmt::format("{} or more", amount(measure, least));
}

std::string at_most(std::size_t measure, std::uint64_t n) {
  return n == 0
             ? std::string("none")
             : fmt::format("at most {}", is_bytes(measure) ? format_bytes(n) : std::to_string(n));
}

std::string all_of(const ShapeRange& refused) {
  std::string text;
  for (std::size_t i = 0; i <= CallShape::kSegments; ++i) {
    if (refused.least.of[i] == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "each has " : ", ", range(i, refused));
  }
  return text;
}

}  // namespace

CallShape shape_of(const model::Call& call) {
  CallShape shape;
  const model::Message& m = call.message;
  const auto sum = [](const auto& segments) {
    std::uint64_t bytes = 0;
    for (const wire::Segment& s : segments) bytes += s.length;
    return bytes;
  };
  for (std::size_t i = 0; i < m.reads.size(); ++i) {
    if (i == 0 || m.reads[i].position != m.reads[i - 1].position)
      ++shape.of[CallShape::kReadChunks];
    shape.of[CallShape::kReadBytes] += m.reads[i].target.length;
  }
  shape.of[CallShape::kWriteChunks] = m.write_counts.size();
  shape.of[CallShape::kReplyChunks] = m.has_reply_chunk ? 1 : 0;
  shape.of[CallShape::kSegments] =
      m.reads.size() + m.write_segments.size() + m.reply_segments.size();
  shape.of[CallShape::kWriteBytes] = sum(m.write_segments);
  shape.of[CallShape::kReplyBytes] = sum(m.reply_segments);
  return shape;
}

void ShapeRange::add(const CallShape& shape) {
  for (std::size_t i = 0; i < CallShape::kMeasures; ++i) {
    least.of[i] = calls == 0 ? shape.of[i] : std::min(least.of[i], shape.of[i]);
    most.of[i] = std::max(most.of[i], shape.of[i]);
  }
  ++calls;
}

std::string difference(const ShapeRange& refused, const ShapeRange& answered) {
  if (answered.calls == 0) return all_of(refused);
  std::string text;
  // Segments and bytes add no information if there are more chunks.
  std::array<bool, CallShape::kMeasures> more{};
  for (std::size_t i = 0; i < CallShape::kMeasures; ++i) {
    more[i] = refused.least.of[i] > answered.most.of[i];
    const bool follows = i == CallShape::kSegments
                             ? more[CallShape::kReadChunks] || more[CallShape::kWriteChunks] ||
                                   more[CallShape::kReplyChunks]
                             : is_bytes(i) && more[i - CallShape::kReadBytes];
    if (!more[i] || follows) continue;
    text += fmt::format("{}{}, while answered Calls have {}", text.empty() ? "each has " : "; ",
                        range(i, refused), at_most(i, answered.most.of[i]));
  }
  return text;
}

}  // namespace rpcrdma::rules
