// The DDP-eligible arguments of NFS versions 2, 3 and 4 (RFC 8267 sections 4 and 6.1).
#include "compound.h"
#include "eligible_shapes.h"
#include "xdr_shape.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {
namespace {

// NFS version 2 (RFC 1094 section 2.2): WRITE's data follows a file handle and three words; SYMLINK
// has a directory, a name, the path and the attributes.
constexpr Field kNfs2Write[] = {kBytes<44>, kDdpOpaque};
constexpr Field kNfs2Symlink[] = {kBytes<32>, kOpaque, kDdpOpaque, kBytes<32>};

// NFS version 3 (RFC 1813 sections 3.3.7, 3.3.10).
constexpr Field kNfs3Write[] = {kOpaque, kBytes<16>, kDdpOpaque};
constexpr Arm kOptionalWordArms[] = {{0, {}}, {1, kWord}};
constexpr Field kOptionalWord = union_of(kOptionalWordArms);
constexpr Arm kSetTimeArms[] = {{0, {}}, {1, {}}, {2, kHyper}};
constexpr Field kSetTime = union_of(kSetTimeArms);
constexpr Field kNfs3Symlink[] = {kOpaque,       kOpaque,       kOptionalWord,
                                  kOptionalWord, kOptionalWord, kOptionalHyper,
                                  kSetTime,      kSetTime,      kDdpOpaque};

// Notes which opaque's data each chunk removed.
class ArgumentReduction final : public Reduction {
 public:
  ArgumentReduction(std::span<const Removed> removed, std::span<TakenItem> items)
      : removed_(removed), items_(items) {}

  bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) override {
    const std::size_t data = count_offset + 4;
    if (pass(data)) return false;
    bool found = false;
    for (; result_.passed < removed_.size() && removed_[result_.passed].offset == data;
         ++result_.passed) {
      if (removed_[result_.passed].length == 0) continue;  // removed nothing
      found = true;
      if (result_.found == items_.size()) continue;
      items_[result_.found++] = {static_cast<std::uint32_t>(result_.passed),
                                 static_cast<std::uint32_t>(count_offset), length, ddp_eligible};
    }
    return found;
  }

  // Passes the chunks before `offset`. True: one of them removed something other than an opaque, so
  // the bytes read are not what was sent.
  bool pass(std::size_t offset) {
    while (result_.passed < removed_.size() && removed_[result_.passed].offset < offset) {
      if (removed_[result_.passed++].length != 0) lost_ = true;
    }
    return lost_;
  }
  void pass_all() { result_.passed = removed_.size(); }

  [[nodiscard]] const TakenItems& result() const { return result_; }

 private:
  std::span<const Removed> removed_;
  std::span<TakenItem> items_;
  TakenItems result_;
  bool lost_ = false;
};

void walk_compound(const ProcedureId& id, wire::Bytes args, ArgumentReduction& reduction) {
  CompoundReader reader(id, CompoundReader::Part::kArguments, args);
  while (const Operation* operation = reader.next()) {
    reader.skip_arguments(*operation, reduction);
    if (reduction.pass(reader.offset())) return;
  }
  const CompoundOps ops = reader.ops();
  if (ops.complete) reduction.pass_all();
}

}  // namespace

Shape eligible_arguments(const ProcedureId& id) {
  if (id.program != kProgNfs) return {};
  if (id.version == 2 && id.procedure == 8) return kNfs2Write;
  if (id.version == 2 && id.procedure == 13) return kNfs2Symlink;
  if (id.version == 3 && id.procedure == 7) return kNfs3Write;
  if (id.version == 3 && id.procedure == 10) return kNfs3Symlink;
  return {};
}

bool has_binding(const ProcedureId& id) {
  if (procedure_name(id.program, id.version, id.procedure) == nullptr) return false;
  return id.program == kProgNfs || is_transient_program(id.program);
}

TakenItems find_taken_items(const ProcedureId& id, wire::Bytes args,
                            std::span<const Removed> removed, std::span<TakenItem> items) {
  if (!has_binding(id)) return {};
  ArgumentReduction reduction(removed, items);
  if (is_compound(id)) {
    walk_compound(id, args, reduction);
  } else {
    wire::XdrReader reader(args);
    const Shape shape = eligible_arguments(id);
    skip_value(reader, shape, reduction);
    // The rest was not walked, but nothing in it is DDP-eligible.
    if (reader.ok()) reduction.pass_all();
  }
  return reduction.result();
}

}  // namespace rpcrdma::decode
