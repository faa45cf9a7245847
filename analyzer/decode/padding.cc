// Walks the arguments or results to the first long opaque, removes the padding in front of it, and
// walks again: the padding moves everything behind it.
#include "compound.h"
#include "eligible_shapes.h"

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

// Padding in more places serves no receiver, and each costs a walk.
constexpr std::size_t kMaxPlaces = 16;

// The echo program (engine/service/echo.x): data after its checksum; in results also after the
// status and two times.
constexpr Field kEchoData[] = {kWord, kDdpOpaque};
constexpr Field kEchoResult[] = {kBytes<24>, kDdpOpaque};
constexpr Field kEchoList[] = {kBytes<24>, kArrayOf<kOpaque>};

Shape echo_shape(std::uint32_t procedure, bool results) {
  constexpr std::uint32_t kEcho = 1, kSink = 2, kSource = 3, kEchoBulk = 4, kList = 5;
  switch (procedure) {
    case kEcho:
    case kEchoBulk:
      return results ? Shape(kEchoResult) : Shape(kEchoData);
    case kSink:
      return results ? Shape() : Shape(kEchoData);
    case kSource:
      return results ? Shape(kEchoResult) : Shape();
    case kList:
      return results ? Shape(kEchoList) : Shape();
    default:
      return {};
  }
}

Shape shape_of(const ProcedureId& id, bool results) {
  if (id.program == kProgEcho) return id.version == 1 ? echo_shape(id.procedure, results) : Shape();
  return results ? eligible_results(id) : eligible_arguments(id);
}

// Finds the first opaque behind `from` whose bytes are in the stream and may have padding.
class LongOpaque final : public Reduction {
 public:
  LongOpaque(const ReducedBody& body, std::uint32_t thresh, std::size_t from)
      : reads_(body.reads), written_(body.written), thresh_(thresh), from_(from) {}

  bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) override {
    if (found_) return false;
    const std::size_t data = count_offset + 4;
    const std::uint64_t written =
        ddp_eligible && next_ < written_.size() ? written_[next_++] : std::uint64_t{0};
    if (!reads_.empty() && reads_.front().offset == data + moved_) {
      moved_ += wire::xdr_padded(reads_.front().length);
      reads_ = reads_.subspan(1);
      return true;
    }
    if (written != 0) {
      moved_ += wire::xdr_padded(length);
      return true;
    }
    if (length >= thresh_ && data > from_) found_ = data;
    return false;
  }

  // Offset of its bytes.
  [[nodiscard]] std::optional<std::size_t> found() const { return found_; }
  // Whether every Read chunk was met.
  [[nodiscard]] bool met_all() const { return reads_.empty(); }

 private:
  std::span<const Removed> reads_;
  std::span<const std::uint64_t> written_;
  std::uint32_t thresh_;
  std::size_t from_;
  std::size_t next_ = 0;
  std::uint64_t moved_ = 0;
  std::optional<std::size_t> found_;
};

// Returns whether the whole body was walked, if it has no such opaque.
bool walk(const ProcedureId& id, bool results, wire::Bytes body, LongOpaque& opaque,
          std::uint32_t thresh) {
  if (!is_compound(id)) {
    const Shape shape = shape_of(id, results);
    if (shape.count == 0) return false;
    wire::XdrReader reader(body);
    skip_value(reader, shape, opaque);
    return reader.ok() && reader.remaining() == 0;
  }
  // The tag is not walked.
  const std::size_t tag = results ? 4 : 0;
  if (body.size() < tag + 4 || wire::load_be32(body.data() + tag) >= thresh) return false;
  CompoundReader reader(
      id, results ? CompoundReader::Part::kResults : CompoundReader::Part::kArguments, body);
  while (const Operation* operation = reader.next()) {
    if (results) {
      reader.skip_results(*operation, opaque);
    } else {
      reader.skip_arguments(*operation, opaque);
    }
    if (opaque.found()) return false;
  }
  return reader.ops().complete && reader.offset() == body.size();
}

// Whether a word may be the count of an opaque that long, whatever the program.
bool may_have_long_opaque(wire::Bytes body, std::uint32_t thresh) {
  for (std::size_t at = 0; at + 4 <= body.size(); at += 4) {
    const std::uint32_t count = wire::load_be32(body.data() + at);
    if (count >= thresh && count <= body.size() - at - 4) return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<PaddingRange>> find_padding(const PaddingRule& rule, wire::Bytes message,
                                                      const ReducedBody& body,
                                                      const ProcedureId* call) {
  std::vector<PaddingRange> padding;
  const auto rpc = wire::decode_rpc(message);
  if (!rpc || !header_is_certain(*rpc, rule.thresh, UINT32_MAX)) return std::nullopt;
  const wire::Bytes padded = message.subspan(rpc->length);
  if (rule.align == 0 || !may_have_long_opaque(padded, rule.thresh)) return padding;
  const bool results = rpc->type == wire::MsgType::kReply;
  const ProcedureId own{rpc->call.prog, rpc->call.vers, rpc->call.proc};
  const ProcedureId* const id = results ? call : &own;
  const Wrapping wrapping = results && call != nullptr
                                ? wrapping_of_reply(call->wrapping, rpc->reply)
                                : wrapping_of(rpc->call.cred);
  if (id == nullptr || wrapping != Wrapping::kNone) return std::nullopt;

  std::vector<std::uint8_t> plain(padded.begin(), padded.end());
  std::size_t removed = 0;
  std::size_t from = 0;
  for (std::size_t place = 0; place <= kMaxPlaces; ++place) {
    LongOpaque opaque(body, rule.thresh, from);
    const bool whole = walk(*id, results, plain, opaque, rule.thresh);
    if (!opaque.found()) {
      return whole && opaque.met_all() ? std::optional(std::move(padding)) : std::nullopt;
    }
    const std::size_t data = *opaque.found();
    if (data > plain.size()) return std::nullopt;
    const std::size_t at = rpc->length + removed + data;  // in the padded message
    const std::size_t length = (rule.align - (rule.origin + at) % rule.align) % rule.align;
    if (length > plain.size() - data) return std::nullopt;
    if (length != 0) padding.push_back({at, length});
    const auto begin = plain.begin() + static_cast<std::ptrdiff_t>(data);
    plain.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
    removed += length;
    from = data;
  }
  return std::nullopt;
}

std::vector<std::uint8_t> without_padding(wire::Bytes message,
                                          std::span<const PaddingRange> padding) {
  std::vector<std::uint8_t> plain;
  plain.reserve(message.size());
  std::size_t copied = 0;
  const auto copy = [&](std::size_t end) {
    const wire::Bytes part = message.subspan(copied, end - copied);
    plain.insert(plain.end(), part.begin(), part.end());
  };
  for (const PaddingRange& range : padding) {
    copy(range.offset);
    copied = range.offset + range.length;
  }
  copy(message.size());
  return plain;
}

}  // namespace rpcrdma::decode
