#include "compound.h"
#include "xdr_shape.h"

#include <algorithm>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/roundup.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

// NFS version 3 (RFC 1813 section 3.3), as far as there are counted opaques.
constexpr Field kHandleAndName[] = {kOpaque, kOpaque};
constexpr Field kTwoNames[] = {kOpaque, kOpaque, kOpaque, kOpaque};
constexpr Field kLinkNames[] = {kOpaque, kOpaque, kOpaque};
constexpr Field kWrittenData[] = {kOpaque, kBytes<16>, kDdpOpaque};
constexpr Arm kAttributesArms[] = {{0, {}}, {1, kBytes<84>}};
constexpr Field kAttributes = union_of(kAttributesArms);
constexpr Arm kReadDataArms[] = {{0, kMembers<kAttributes, kHyper, kDdpOpaque>}};
constexpr Field kReadData = union_of(kReadDataArms, Shape{});
constexpr Arm kLinkTextArms[] = {{0, kMembers<kAttributes, kDdpOpaque>}};
constexpr Field kLinkText = union_of(kLinkTextArms, Shape{});
constexpr Field kEntries = kListOf<kHyper, kOpaque, kHyper>;
constexpr Arm kDirectoryArms[] = {{0, kMembers<kAttributes, kHyper, kEntries>}};
constexpr Field kDirectory = union_of(kDirectoryArms, Shape{});

Shape arguments_of(std::uint32_t procedure) {
  switch (procedure) {
    case 0:
      return {};
    case 3:   // LOOKUP
    case 8:   // CREATE
    case 9:   // MKDIR
    case 10:  // SYMLINK
    case 11:  // MKNOD
    case 12:  // REMOVE
    case 13:  // RMDIR
      return kHandleAndName;
    case 7:
      return kWrittenData;
    case 14:  // RENAME
      return kTwoNames;
    case 15:
      return kLinkNames;
    default:
      return kOpaque;
  }
}

Shape results_of(std::uint32_t procedure) {
  switch (procedure) {
    case 5:
      return kLinkText;
    case 6:
      return kReadData;
    case 16:
      return kDirectory;
    default:
      return {};
  }
}

class RoundupSearch final : public Reduction {
 public:
  RoundupSearch(wire::Bytes stream, const InChunks& in_chunks)
      : stream_(stream), reads_(in_chunks.reads), writes_(in_chunks.writes) {}

  bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) override {
    const std::size_t data = count_offset + 4;
    if (is_read(data) || (ddp_eligible && is_written(length))) return true;
    // Most lengths need no roundup.
    if (length % 4 != 0 && !found_ && has_nonzero_roundup(stream_, data, length)) {
      found_ = count_offset;
    }
    return false;
  }

  // False: chunks removed something other than the data of an opaque before `offset`, or senders
  // may have left roundup in the stream: what was read may not be what was sent.
  [[nodiscard]] bool certain(std::size_t offset) const {
    return !stray_ && (reads_.empty() || reads_.front().offset >= offset);
  }
  [[nodiscard]] std::optional<std::size_t> found() const { return found_; }

 private:
  bool is_read(std::size_t data) {
    bool removed = false;
    while (!reads_.empty() && (reads_.front().offset == data || reads_.front().length == 0)) {
      removed |= reads_.front().length != 0;
      reads_ = reads_.subspan(1);
    }
    return removed;
  }
  bool is_written(std::uint32_t length) {
    if (writes_.empty()) return false;
    const bool removed = writes_.front() != 0;
    writes_ = writes_.subspan(1);
    stray_ |= removed && length % 4 != 0;
    return removed;
  }

  wire::Bytes stream_;
  std::span<const Removed> reads_;
  std::span<const std::uint64_t> writes_;
  std::optional<std::size_t> found_;
  bool stray_ = false;
};

bool search_compound(const ProcedureId& id, bool call, wire::Bytes stream, RoundupSearch& search) {
  const auto part = call ? CompoundReader::Part::kArguments : CompoundReader::Part::kResults;
  CompoundReader reader(id, part, stream);
  while (const Operation* operation = reader.next()) {
    if (call) {
      reader.skip_arguments(*operation, search);
    } else {
      reader.skip_results(*operation, search);
    }
  }
  return reader.ops().complete && search.certain(reader.offset());
}

}  // namespace

bool has_nonzero_roundup(wire::Bytes stream, std::size_t offset, std::uint64_t length) {
  if (offset > stream.size() || length > stream.size() - offset) return false;
  if (wire::xdr_padded(length) > stream.size() - offset) return false;
  const wire::Bytes roundup =
      stream.subspan(offset + static_cast<std::size_t>(length),
                     static_cast<std::size_t>(wire::xdr_padded(length) - length));
  return std::any_of(roundup.begin(), roundup.end(), [](std::uint8_t b) { return b != 0; });
}

std::optional<std::size_t> find_nonzero_roundup(const ProcedureId& id, wire::MsgType part,
                                                wire::Bytes stream, const InChunks& in_chunks) {
  const bool call = part == wire::MsgType::kCall;
  RoundupSearch search(stream, in_chunks);
  if (is_compound(id)) {
    return search_compound(id, call, stream, search) ? search.found() : std::nullopt;
  }
  if (id.program != kProgNfs || id.version != 3) return std::nullopt;
  wire::XdrReader reader(stream);
  skip_value(reader, call ? arguments_of(id.procedure) : results_of(id.procedure), search);
  return reader.ok() && search.certain(reader.offset()) ? search.found() : std::nullopt;
}

}  // namespace rpcrdma::decode
