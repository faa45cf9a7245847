// A checked Call describes exactly what its header holds, within the limits; its stream can be read
// in any way, and its Reply planned with any results. Any other message is rejected with a reason,
// and errors are never answered.
//
// The input: a byte each for the limits (segments; bytes of Read chunks, a power of two), then a
// Send. The XID selects how the stream is read, the credit word how the Call is answered.
#include "call_check.h"
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/xdr.h>

namespace {

using namespace rpcrdma::protocol;
using rpcrdma::fuzz::require;
using rpcrdma::wire::Bytes;
using rpcrdma::wire::Segment;

constexpr std::uint64_t kPulledAtMost = 1 << 16;

std::vector<rpcrdma::wire::ReadSegment> read_list(const CheckedCall& call) {
  std::vector<rpcrdma::wire::ReadSegment> out;
  for (const ReadChunk& chunk : call.reads) {
    std::uint64_t bytes = 0;
    for (const Segment& segment : call.of(chunk.segments)) {
      out.push_back({chunk.position, segment});
      bytes += segment.length;
    }
    require(bytes == chunk.bytes && bytes != 0);
  }
  return out;
}

std::uint64_t total(std::span<const Segment> segments) {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments) sum += segment.length;
  return sum;
}

// The description has the Read list in order of position.
bool is_sorted(const rpcrdma::wire::HeaderView& header) {
  std::uint32_t before = 0;
  for (const rpcrdma::wire::ReadSegment read : header.reads) {
    if (read.position < before) return false;
    before = read.position;
  }
  return true;
}

// Encoding the description gives the header that was received.
void check_same_header(const CheckedCall& call, Bytes message) {
  rpcrdma::wire::Header header;
  header.vers = call.version;
  header.inv_handle = call.inv_handle;
  header.xid = call.xid;
  header.credit = call.credit;
  header.proc = call.is_long ? rpcrdma::wire::Proc::kNomsg : rpcrdma::wire::Proc::kMsg;
  const auto reads = read_list(call);
  header.reads = reads;
  std::vector<rpcrdma::wire::WriteChunk> writes;
  require(call.offer.write_chunks == call.writes.size());
  std::size_t segments = 0;
  for (std::uint32_t n = 0; n < call.offer.write_chunks; ++n) {
    writes.push_back(call.of(call.writes[n]));
    segments += writes.back().size();
    if (n < kMaxPieces) require(call.offer.write_chunk[n] == total(writes.back()));
  }
  require(call.offer.write_segments == segments);
  header.writes = writes;
  require(call.offer.reply_segments == call.of(call.reply).size());
  require(call.offer.reply_chunk == total(call.of(call.reply)));
  if (call.offer.has_reply_chunk) header.reply = call.of(call.reply);

  std::vector<std::uint8_t> again(rpcrdma::wire::encoded_size(header));
  require(again.size() + call.payload.size() == message.size());
  require(rpcrdma::wire::encode_header(header, again).value_or(0) == again.size());
  require(std::equal(again.begin(), again.end(), message.begin()));
  require(call.payload.empty() || call.payload.data() == message.data() + again.size());
}

void check_limits(const CheckedCall& call, const ResponderOptions& options) {
  require(call.segments.size() <= options.max_segments);
  require(call.read_bytes <= options.max_chunk_bytes);
  std::uint64_t bytes = 0;
  for (const ReadChunk& chunk : call.reads) bytes += chunk.bytes;
  require(bytes == call.read_bytes);
  require(call.is_long == (!call.reads.empty() && call.reads[0].position == 0));
}

void read_stream(const CheckedCall& call) {
  if (call.read_bytes > kPulledAtMost) return;
  std::vector<std::vector<std::uint8_t>> pulled;
  pulled.reserve(call.reads.size());
  for (const ReadChunk& chunk : call.reads) pulled.emplace_back(chunk.bytes);
  Bytes stream = call.payload;
  std::vector<Placed> items;
  for (std::size_t i = 0; i < pulled.size(); ++i) {
    if (call.reads[i].position == 0) {
      stream = pulled[i];
    } else {
      items.push_back({call.reads[i].position, pulled[i]});
    }
  }
  StreamReader reader(stream, items);
  require(reader.ok());  // check_call() and the reader agree about the limits
  for (std::uint32_t script = call.xid; reader.ok() && !reader.at_end(); script = script * 5 + 1) {
    const std::uint64_t before = reader.position();
    Bytes bytes;
    switch (script >> 29) {
      case 0:
        bytes = reader.opaque();
        break;
      case 1:
        bytes = reader.opaque_result();
        break;
      case 2:
        bytes = reader.opaque_fixed(1 + (script >> 8 & 63));
        break;
      case 3:
        (void)reader.u64();
        break;
      default:
        (void)reader.u32();
    }
    require(reader.ok() || bytes.empty());
    require(!reader.ok() || reader.position() > before);
    // Reads every byte, for AddressSanitizer.
    require(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) <= 255 * bytes.size());
  }
}

void plan(const CheckedCall& call) {
  const std::vector<std::uint8_t> memory(8192);
  std::vector<Piece> message(call.credit % (kMaxPieces + 1));
  std::uint32_t script = call.credit;
  for (Piece& piece : message) {
    script = script * 0x9e3779b1 + 1;
    piece.ddp = (script >> 31) != 0;
    piece.bytes = Bytes(memory).first(script >> 8 & 0x1fff);
  }
  const Limits limits{.call_threshold = 1024, .reply_threshold = 1024};
  const auto reply = plan_reply(limits, message, call.offer);
  if (!reply) {
    require(reply.error().code == rpcrdma::fabric::Errc::kNoRoom);
    return;
  }
  require(reply->header_bytes + (reply->long_reply ? 0 : reply->stream_bytes) <= 1024);
  require(!reply->long_reply || reply->stream_bytes <= call.offer.reply_chunk);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ResponderOptions options{.max_chunk_bytes = std::uint64_t{1} << (data[1] & 63),
                                 .max_segments = data[0]};
  const Bytes message(data + 2, size - 2);
  const auto header = rpcrdma::wire::decode_header(message);
  CheckedCall call;
  constexpr Versions kVersions{1, 2};
  const CallVerdict verdict = check_call(message, header, kVersions, options, call);
  const auto prefix = rpcrdma::wire::decode_prefix(message);
  require(verdict.xid == (prefix ? prefix->xid : 0));
  if (verdict.answer == CallAnswer::kOption) return 0;
  if (verdict.answer == CallAnswer::kServe) {
    if (is_sorted(*header)) check_same_header(call, message);
    check_limits(call, options);
    read_stream(call);
    plan(call);
    return 0;
  }
  require(*verdict.reason != '\0');
  require(prefix || verdict.answer == CallAnswer::kIgnore);
  if (!prefix) return 0;
  require(prefix->proc != 4 || verdict.answer == CallAnswer::kIgnore);
  require((verdict.answer == CallAnswer::kErrorVersion) ==
          (!kVersions.contains(prefix->vers) && prefix->proc != 4));
  return 0;
}
