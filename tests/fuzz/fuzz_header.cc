// A transport header that decodes lies within the input, encodes to the same bytes, and is
// truncated without its last byte. One that does not decode names the place and the rule. The same
// applies to version 2's later dialects, except for encoding; and a message recognized as one of
// them decodes as such.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/wire/dialect.h>
#include <rpcrdma/wire/header.h>

namespace {

using namespace rpcrdma::wire;
using rpcrdma::fuzz::require;

// A Header to encode, with the memory that it points to.
struct Copy {
  explicit Copy(const HeaderView& view) {
    header.xid = view.xid;
    header.vers = view.vers;
    header.credit = view.credit;
    header.proc = view.proc;
    header.direction = view.direction;
    header.inv_handle = view.inv_handle;
    header.align = view.align;
    header.thresh = view.thresh;
    reads.assign(view.reads.begin(), view.reads.end());
    header.reads = reads;
    for (const WriteChunkView chunk : view.writes) chunks.emplace_back(chunk.begin(), chunk.end());
    writes.assign(chunks.begin(), chunks.end());
    header.writes = writes;
    if (view.reply) {
      reply.assign(view.reply->begin(), view.reply->end());
      header.reply = WriteChunk(reply);
    }
    header.error = view.error;
    header.vers_low = view.vers_low;
    header.vers_high = view.vers_high;
    header.processed = view.processed;
    header.segment_index = view.segment_index;
    header.length_needed = view.length_needed;
    header.opttype = view.opttype;
    header.optinfo = view.optinfo;
  }

  Header header;
  std::vector<ReadSegment> reads;
  std::vector<std::vector<Segment>> chunks;
  std::vector<WriteChunk> writes;
  std::vector<Segment> reply;
};

// Returns the input's header with the roundup of optinfo set to zero, since it may have any value.
std::vector<std::uint8_t> canonical(const HeaderView& view, Bytes input) {
  const Bytes whole = input.first(view.length);
  std::vector<std::uint8_t> bytes(whole.begin(), whole.end());
  if (!view.optinfo.empty()) {
    const auto roundup =
        (view.optinfo.data() - input.data()) + static_cast<std::ptrdiff_t>(view.optinfo.size());
    std::fill(bytes.begin() + roundup, bytes.end(), std::uint8_t{0});
  }
  return bytes;
}

void check_decoded(const HeaderView& view, Bytes input) {
  require(view.length >= kPrefixBytes && view.length <= input.size());
  const Copy copy(view);
  std::vector<std::uint8_t> again(view.length);
  require(encoded_size(copy.header) == view.length);
  require(encode_header(copy.header, again).value_or(0) == view.length);
  require(again == canonical(view, input));
  const auto shorter = decode_header(input.first(view.length - 1));
  require(!shorter && shorter.error().code == Errc::kTruncated);
}

// Reads all bytes of the views, which lie in the input.
std::uint64_t walk(const LaterHeader& view, Bytes input) {
  std::uint64_t sum = 0;
  for (const auto& reads : {view.call_reads, view.reads}) {
    if (!reads) continue;
    for (const ReadSegment read : *reads) sum += read.target.offset;
  }
  if (view.writes) {
    for (const WriteChunkView chunk : *view.writes) sum += total_length(chunk);
  }
  if (view.reply) sum += total_length(*view.reply);
  for (const auto& ids : {view.done, view.rejected, view.unchanging}) {
    if (!ids) continue;
    for (const std::uint32_t id : *ids) sum += id;
  }
  if (view.properties) {
    view.properties->for_each([&](const Property& p, const std::uint8_t* at) {
      require(at >= input.data() && at + 8 + p.value.size() <= input.data() + view.length);
      for (const std::uint8_t byte : p.value) sum += byte;
    });
  }
  for (const std::uint8_t byte : view.optinfo) sum += byte;
  return sum;
}

void check_later(Dialect dialect, Bytes input) {
  const auto view = decode_later_header(dialect, input);
  if (!view) {
    require(view.error().offset <= input.size());
    require(*view.error().rule != '\0' && *view.error().what != '\0');
    return;
  }
  require(view->length >= kPrefixBytes && view->length <= input.size());
  const volatile std::uint64_t seen = walk(*view, input);
  static_cast<void>(seen);
  // A shorter error header can be a valid one of another draft.
  if (view->use == HeaderUse::kError && dialect == Dialect::kFlags) return;
  const auto shorter = decode_later_header(dialect, input.first(view->length - 1));
  require(!shorter && shorter.error().code == Errc::kTruncated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(data, size);
  const auto prefix = decode_prefix(input);
  require(prefix.has_value() == (size >= kPrefixBytes));
  const auto view = decode_header(input);
  if (view) {
    check_decoded(*view, input);
  } else {
    require(view.error().offset <= size);
    require(*view.error().rule != '\0' && *view.error().what != '\0');
  }
  for (const Dialect dialect : {Dialect::kCel03, Dialect::kFlags, Dialect::kIetf03}) {
    check_later(dialect, input);
  }
  if (const auto recorded = detect_dialect(input)) {
    require(recorded->dialect != Dialect::kDraft02 && *recorded->reason != '\0');
    require(decode_later_header(recorded->dialect, input).has_value());
  }
  return 0;
}
