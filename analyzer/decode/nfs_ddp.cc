// The DDP-eligible results of NFS versions 2, 3 and 4 (RFC 8267 sections 4 and 6.1), and a guess
// for programs without a binding.
#include "compound.h"
#include "eligible_shapes.h"
#include "xdr_shape.h"

#include <algorithm>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

// NFS version 2: READ's data follows a fattr, READLINK's path the status (RFC 1094 section 2.2).
constexpr Arm kNfs2ReadArms[] = {{0, kMembers<kBytes<68>, kDdpOpaque>}};
constexpr Field kNfs2Read = union_of(kNfs2ReadArms, Shape{});
constexpr Arm kNfs2ReadlinkArms[] = {{0, kDdpOpaque}};
constexpr Field kNfs2Readlink = union_of(kNfs2ReadlinkArms, Shape{});

// NFS version 3: post_op_attr; READ has count and eof (RFC 1813 sections 3.3.5, 3.3.6).
constexpr Arm kPostOpAttrArms[] = {{0, {}}, {1, kBytes<84>}};
constexpr Field kPostOpAttr = union_of(kPostOpAttrArms);
constexpr Arm kNfs3ReadArms[] = {{0, kMembers<kPostOpAttr, kHyper, kDdpOpaque>}};
constexpr Field kNfs3Read = union_of(kNfs3ReadArms, Shape{});
constexpr Arm kNfs3ReadlinkArms[] = {{0, kMembers<kPostOpAttr, kDdpOpaque>}};
constexpr Field kNfs3Readlink = union_of(kNfs3ReadlinkArms, Shape{});

// Assigns the Write chunks to the eligible items in order (RFC 8166 section 4.3.2) and records the
// items.
class ResultReduction final : public Reduction {
 public:
  // `whole`: whether `stream_bytes` is certainly the length of the stream.
  ResultReduction(std::uint64_t stream_bytes, bool whole,
                  std::span<const std::uint64_t> chunk_lengths, std::span<DdpItem> items,
                  std::span<const Removed> reads)
      : stream_bytes_(stream_bytes),
        whole_(whole),
        chunk_lengths_(chunk_lengths),
        items_(items),
        reads_(reads) {}

  bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) override {
    if (!reads_.empty() && was_read(count_offset + 4 + moved_)) {
      if (ddp_eligible && next_chunk_ < chunk_lengths_.size()) ++next_chunk_;
      return true;
    }
    if (!ddp_eligible || lost_) return false;
    DdpItem item;
    item.count_offset = static_cast<std::uint32_t>(count_offset);
    item.length = length;
    item.operation = operation_;
    if (next_chunk_ < chunk_lengths_.size()) {
      if (chunk_lengths_[next_chunk_] != 0) item.chunk = static_cast<std::int32_t>(next_chunk_);
      ++next_chunk_;
    }
    const bool removed = item.chunk >= 0;
    if (removed) {
      stray_roundup_ = static_cast<std::uint32_t>(wire::xdr_padded(length) - length);
      moved_ += wire::xdr_padded(length);
    }
    item.absent = !removed && count_offset + 4 + std::uint64_t{length} > stream_bytes_;
    if ((!item.absent || whole_) && found_ < items_.size()) items_[found_++] = item;
    return removed;
  }

  void begin_operation(std::uint32_t index) {
    operation_ = index;
    stray_roundup_ = 0;
  }
  // Bytes of roundup for the data that this operation moved in a chunk.
  [[nodiscard]] std::uint32_t stray_roundup() const { return stray_roundup_; }
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  // Whether a Read chunk removed the data at this offset in the whole results.
  bool was_read(std::uint64_t offset) {
    const bool found = reads_.front().offset == offset;
    // It removed something other than an opaque: the bytes here are not what was sent.
    lost_ |= reads_.front().offset < offset;
    if (found) {
      moved_ += wire::xdr_padded(reads_.front().length);
      reads_ = reads_.subspan(1);
    }
    return found;
  }

  std::uint64_t stream_bytes_;
  bool whole_;
  std::span<const std::uint64_t> chunk_lengths_;
  std::span<DdpItem> items_;
  std::span<const Removed> reads_;  // those not reached yet
  std::uint64_t moved_ = 0;         // bytes so far that are not in the stream
  bool lost_ = false;
  std::size_t next_chunk_ = 0;
  std::size_t found_ = 0;
  std::uint32_t operation_ = 0;
  std::uint32_t stray_roundup_ = 0;
};

CompoundOps walk_compound(const ProcedureId& id, wire::Bytes results, ResultReduction& reduction) {
  CompoundReader reader(id, CompoundReader::Part::kResults, results);
  while (const Operation* operation = reader.next()) {
    reduction.begin_operation(reader.index());
    reader.skip_results(*operation, reduction);
    if (reduction.stray_roundup() != 0) reader.skip_stray_roundup(reduction.stray_roundup());
  }
  return reader.ops();
}

// The count word of a single chunk is most likely the last word with its length: in results that
// use chunks, data comes last.
std::size_t guess_item(wire::Bytes results, std::span<const std::uint64_t> chunk_lengths,
                       std::span<DdpItem> items) {
  const auto has_length = [](std::uint64_t length) { return length != 0; };
  const auto chunk = std::ranges::find_if(chunk_lengths, has_length);
  if (items.empty() || chunk == chunk_lengths.end() || *chunk > UINT32_MAX ||
      std::any_of(chunk + 1, chunk_lengths.end(), has_length)) {
    return 0;
  }
  for (std::size_t end = results.size() & ~std::size_t{3}; end != 0; end -= 4) {
    if (wire::load_be32(results.data() + end - 4) != *chunk) continue;
    items[0] = {.count_offset = static_cast<std::uint32_t>(end - 4),
                .length = static_cast<std::uint32_t>(*chunk),
                .chunk = static_cast<std::int32_t>(chunk - chunk_lengths.begin()),
                .guessed = true};
    return 1;
  }
  return 0;
}

// For this project's own programs only names are known.
bool knows_results(const ProcedureId& id) {
  return !is_own_program(id.program) &&
         procedure_name(id.program, id.version, id.procedure) != nullptr;
}

}  // namespace

Shape eligible_results(const ProcedureId& id) {
  constexpr std::uint32_t kReadlink = 5;  // the same number in versions 2 and 3
  constexpr std::uint32_t kRead = 6;
  if (id.program != kProgNfs) return {};
  if (id.version == 2 && id.procedure == kRead) return kNfs2Read;
  if (id.version == 2 && id.procedure == kReadlink) return kNfs2Readlink;
  if (id.version == 3 && id.procedure == kRead) return kNfs3Read;
  if (id.version == 3 && id.procedure == kReadlink) return kNfs3Readlink;
  return {};
}

std::size_t find_result_items(const ProcedureId& id, wire::Bytes results,
                              std::span<const std::uint64_t> chunk_lengths,
                              std::span<DdpItem> items, CompoundOps* ops,
                              std::optional<std::uint64_t> whole, std::span<const Removed> reads) {
  if (ops != nullptr) *ops = {};
  if (!knows_results(id)) return guess_item(results, chunk_lengths, items);
  ResultReduction reduction(whole.value_or(results.size()), whole.has_value(), chunk_lengths, items,
                            reads);
  if (is_compound(id)) {
    const CompoundOps walked = walk_compound(id, results, reduction);
    if (ops != nullptr) *ops = walked;
  } else {
    wire::XdrReader reader(results);
    skip_value(reader, eligible_results(id), reduction);
  }
  return reduction.found();
}

}  // namespace rpcrdma::decode
