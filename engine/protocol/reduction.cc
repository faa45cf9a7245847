// Plans chunks: how a Call or a Reply is split into inline data and chunks, from lengths alone.
#include "stream_writer.h"

#include <algorithm>

#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Errc;
using fabric::Expected;
using wire::xdr_padded;

constexpr std::uint64_t read_chunk_bytes(std::uint64_t segments) {
  return wire::kReadEntryBytes * segments;
}
constexpr std::uint64_t write_chunk_bytes(std::uint64_t segments) {
  return 8 + wire::kSegmentBytes * segments;  // marker, count
}
// The Reply chunk's marker is already part of an empty header.
constexpr std::uint64_t reply_chunk_bytes(std::uint64_t segments) {
  return 4 + wire::kSegmentBytes * segments;  // count
}

// A growing header, in numbers that hostile or absurd lengths cannot wrap.
struct Size {
  std::uint64_t header = 0;
  std::uint64_t segments = 0;
};

bool positions_are_aligned(std::span<const Piece> message) {
  std::uint64_t position = 0;
  for (const Piece& piece : message) {
    if (piece.ddp && position % 4 != 0) return false;
    position += piece.ddp ? xdr_padded(piece.bytes.size()) : piece.bytes.size();
  }
  return true;
}

// Plans the chunks that a Call offers for its Reply, and what they add to the Call's header.
Expected<Size> plan_offer(const Limits& limits, std::span<const ResultSpace> results,
                          std::uint32_t max_reply, CallPlan& plan) {
  Size size;
  size.header = limits.empty_header;
  std::uint64_t result_bytes = 0;
  for (const ResultSpace& result : results) result_bytes += xdr_padded(result.length);
  if (max_reply + result_bytes > kMaxMessageBytes) {
    return fabric::fail(Errc::kBadArgument, "the Reply may have 2 GiB or more");
  }
  const auto fits_inline = [&](std::uint64_t bytes) {
    return !limits.offer_all && size.header + bytes <= limits.reply_threshold;
  };
  if (limits.offer_nothing || fits_inline(max_reply + result_bytes)) return size;
  if (limits.inline_only) {
    return fabric::fail(Errc::kBadArgument, "the Reply may need a chunk, which is not allowed");
  }

  if (result_bytes != 0) {
    plan.write_list = true;
    for (const ResultSpace& result : results) {
      const std::uint64_t segments = segment_count(result.length, limits.max_segment);
      size.header += write_chunk_bytes(segments);
      size.segments += segments;
    }
    if (fits_inline(max_reply)) return size;
  }

  plan.reply_chunk = max_reply;
  const std::uint64_t segments = segment_count(max_reply, limits.max_segment);
  size.header += reply_chunk_bytes(segments);
  size.segments += segments;
  // The Reply returns the same chunks.
  if (size.header > limits.reply_threshold) {
    return fabric::fail(Errc::kBadArgument,
                        "the Reply's header would be longer than the inline threshold");
  }
  return size;
}

// The largest DDP-eligible piece that is still inline and whose Read chunk would make the Send
// shorter; message.size() if there is none.
std::size_t next_to_reduce(const Limits& limits, std::span<const Piece> message,
                           const std::array<bool, kMaxPieces>& apart) {
  std::size_t best = message.size();
  for (std::size_t i = 0; i < message.size(); ++i) {
    const std::uint64_t bytes = message[i].bytes.size();
    if (!message[i].ddp || apart[i]) continue;
    if (xdr_padded(bytes) <= read_chunk_bytes(segment_count(bytes, limits.max_segment))) continue;
    if (best == message.size() || bytes > message[best].bytes.size()) best = i;
  }
  return best;
}

CallPlan finished(CallPlan plan, const Size& size, std::uint64_t inline_bytes) {
  plan.header_bytes = static_cast<std::uint32_t>(size.header);
  plan.inline_bytes = static_cast<std::uint32_t>(inline_bytes);
  plan.segments = static_cast<std::uint32_t>(size.segments);
  return plan;
}

// Adds padding to a message of these lengths if that fits as well; returns whether it does.
// `apart`: the pieces that are not inline.
bool pad(const Padding& wanted, std::span<const Piece> message,
         const std::array<bool, kMaxPieces>& apart, std::uint32_t threshold,
         std::uint32_t& header_bytes, std::uint32_t& inline_bytes) {
  constexpr std::uint32_t kPaddingWords = 8;
  Padding padding = wanted;
  if (padding.align == 0 || !may_be_padded(message, padding)) return false;
  padding.origin = header_bytes + kPaddingWords;
  const std::uint64_t bytes = padding_bytes(message, apart, padding);
  if (bytes == 0 || padding.origin + inline_bytes + bytes > threshold) return false;
  header_bytes += kPaddingWords;
  inline_bytes += static_cast<std::uint32_t>(bytes);
  return true;
}

// Length of the header of a Reply without Reply chunk.
std::uint64_t returned_header(const Limits& limits, const Offer& offer) {
  return limits.empty_header + offer.write_chunks * write_chunk_bytes(0) +
         wire::kSegmentBytes * std::uint64_t{offer.write_segments};
}

// Plans the rest of a Reply that has no room elsewhere, starting from the header of
// returned_header().
Expected<ReplyPlan> plan_reply_reads(const Limits& limits, std::span<const Piece> message,
                                     std::uint64_t header, std::uint64_t stream, ReplyPlan plan) {
  Size size{header, 0};
  // Positions count the whole stream, with what Write chunks hold.
  std::array<bool, kMaxPieces> apart = plan.by_write;
  std::uint64_t inline_bytes = stream;
  while (size.header + inline_bytes > limits.reply_threshold) {
    const std::size_t i = next_to_reduce(limits, message, apart);
    if (i == message.size()) break;
    plan.by_read[i] = apart[i] = true;
    const std::uint64_t segments = segment_count(message[i].bytes.size(), limits.max_segment);
    size.header += read_chunk_bytes(segments);
    size.segments += segments;
    inline_bytes -= xdr_padded(message[i].bytes.size());
  }
  if (size.header + inline_bytes > limits.reply_threshold) {
    plan.by_read = {};
    plan.read_reply = true;
    const std::uint64_t segments = segment_count(stream, limits.max_segment);
    size = {header + read_chunk_bytes(segments), segments};
    inline_bytes = stream;
  }
  if (size.segments > kMaxSegments || size.header > limits.reply_threshold) {
    return fabric::fail(Errc::kNoRoom, "the chunks have more segments than a Reply has room for");
  }
  plan.read_segments = static_cast<std::uint32_t>(size.segments);
  plan.header_bytes = static_cast<std::uint32_t>(size.header);
  plan.stream_bytes = static_cast<std::uint32_t>(inline_bytes);
  return plan;
}

bool fits(const Size& size, std::uint64_t inline_bytes, std::uint32_t threshold) {
  return size.segments <= kMaxSegments && size.header + inline_bytes <= threshold;
}

}  // namespace

Expected<CallPlan> plan_call(const Limits& limits, std::span<const Piece> message,
                             std::span<const ResultSpace> results, std::uint32_t max_reply) {
  if (message.size() > kMaxPieces) return fabric::fail(Errc::kBadArgument, "too many pieces");
  if (results.size() > kMaxResults) return fabric::fail(Errc::kBadArgument, "too many results");
  if (limits.max_segment == 0) return fabric::fail(Errc::kBadArgument, "segments of 0 bytes");
  const std::uint64_t stream = stream_bytes(message);
  if (stream > kMaxMessageBytes) {
    return fabric::fail(Errc::kBadArgument, "the Call has 2 GiB or more");
  }
  if (!positions_are_aligned(message)) {
    return fabric::fail(Errc::kBadArgument,
                        "a DDP-eligible piece does not begin at a multiple of 4 bytes");
  }

  CallPlan plan;
  const Expected<Size> offer = plan_offer(limits, results, max_reply, plan);
  if (!offer) return tl::unexpected(offer.error());

  Size size = *offer;
  std::uint64_t inline_bytes = stream;
  while (limits.read_chunks && !fits(size, inline_bytes, limits.call_threshold)) {
    const std::size_t i = next_to_reduce(limits, message, plan.by_read);
    if (i == message.size()) break;
    plan.by_read[i] = true;
    const std::uint64_t segments = segment_count(message[i].bytes.size(), limits.max_segment);
    size.header += read_chunk_bytes(segments);
    size.segments += segments;
    inline_bytes -= xdr_padded(message[i].bytes.size());
  }
  const bool fits_so = fits(size, inline_bytes, limits.call_threshold);
  if (limits.inline_only && (!fits_so || size.segments != 0)) {
    return fabric::fail(Errc::kBadArgument, "the Call needs a chunk, which is not allowed");
  }
  if (fits_so) {
    plan = finished(plan, size, inline_bytes);
    plan.padded = pad(limits.padding, message, plan.by_read, limits.call_threshold,
                      plan.header_bytes, plan.inline_bytes);
    return plan;
  }
  if (!limits.read_chunks) {
    return fabric::fail(Errc::kBadArgument,
                        "the Call needs a Read chunk, and maxrdmaread permits none");
  }

  plan.by_read = {};
  plan.long_call = true;
  size = *offer;
  const std::uint64_t segments = segment_count(stream, limits.max_segment);
  size.header += read_chunk_bytes(segments);
  size.segments += segments;
  if (size.segments > kMaxSegments) {
    return fabric::fail(Errc::kBadArgument, "the chunks have too many segments");
  }
  if (size.header > limits.call_threshold) {
    return fabric::fail(Errc::kBadArgument, "the header is longer than the inline threshold");
  }
  return finished(plan, size, 0);
}

Expected<ReplyPlan> plan_reply(const Limits& limits, std::span<const Piece> message,
                               const Offer& offer, Shortage* shortage) {
  const auto short_of = [&](std::uint32_t chunk, std::uint64_t bytes, const char* why) {
    if (shortage != nullptr) *shortage = {chunk, bytes};
    return fabric::fail(Errc::kNoRoom, why);
  };
  if (message.size() > kMaxPieces) return fabric::fail(Errc::kBadArgument, "too many pieces");
  std::uint64_t stream = stream_bytes(message);
  if (stream > kMaxMessageBytes) {
    return fabric::fail(Errc::kBadArgument, "the Reply has 2 GiB or more");
  }

  ReplyPlan plan;
  std::uint32_t result = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (!message[i].ddp) continue;
    if (result == offer.write_chunks) break;
    const std::uint32_t chunk = result++;
    const std::uint64_t room = offer.write_chunk[chunk];
    const std::uint64_t bytes = message[i].bytes.size();
    if (bytes == 0 || room == 0) continue;
    if (bytes > room) return short_of(chunk, bytes, "a Write chunk is too small");
    plan.by_write[i] = true;
    stream -= xdr_padded(bytes);
  }

  std::uint64_t header = returned_header(limits, offer);
  if (header + stream > limits.reply_threshold) {
    const bool has_room = offer.has_reply_chunk && stream <= offer.reply_chunk;
    if (limits.reply_reads && !has_room) {
      return plan_reply_reads(limits, message, header, stream, plan);
    }
    if (!offer.has_reply_chunk) {
      return short_of(Shortage::kReplyChunk, stream,
                      "the Reply does not fit inline, and has no Reply chunk");
    }
    if (stream > offer.reply_chunk) {
      return short_of(Shortage::kReplyChunk, stream, "the Reply chunk is too small");
    }
    plan.long_reply = true;
    header += reply_chunk_bytes(offer.reply_segments);
    if (header > limits.reply_threshold) {
      return short_of(Shortage::kUnknown, 0,
                      "the chunks have more segments than a Reply has room for");
    }
  }
  plan.header_bytes = static_cast<std::uint32_t>(header);
  plan.stream_bytes = static_cast<std::uint32_t>(stream);
  plan.padded =
      !plan.long_reply && pad(limits.padding, message, plan.by_write, limits.reply_threshold,
                              plan.header_bytes, plan.stream_bytes);
  return plan;
}

bool reply_header_fits(const Limits& limits, const Offer& offer) {
  return returned_header(limits, offer) <= limits.reply_threshold;
}

}  // namespace rpcrdma::protocol
