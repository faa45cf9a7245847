#include "call_reduction.h"
#include "compound.h"
#include "operation_items.h"

#include <rpcrdma/decode/compound_call.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {

namespace {

// RFC 7530 sections 16.23, 16.24: READs and READDIRs request bytes.
class AskedSum {
 public:
  // The arguments of operation `op` begin at `offset`.
  void add(std::uint32_t op, wire::Bytes args, std::size_t offset) {
    constexpr std::uint32_t kRead = 25;
    constexpr std::uint32_t kReaddir = 26;
    if ((op != kRead && op != kReaddir) || cut_) return;
    wire::XdrReader reader(args, offset);
    // stateid and offset; or cookie, cookieverf and dircount
    reader.skip(op == kRead ? 24 : 20);
    const std::uint32_t count = reader.u32();
    cut_ = !reader.ok();
    if (!cut_) sum_ = sum_.value_or(0) + count;
  }
  [[nodiscard]] std::optional<std::uint64_t> sum() const { return sum_; }

 private:
  std::optional<std::uint64_t> sum_;
  bool cut_ = false;  // too little was captured
};

}  // namespace

CompoundCall read_compound_call(const ProcedureId& id, wire::Bytes args,
                                std::span<const Removed> removed, std::uint32_t padded_from,
                                NfsItemSink* items) {
  CompoundCall call;
  if (!is_compound(id)) return call;
  // The tag comes first.
  if (args.size() >= 4 && wire::load_be32(args.data()) >= padded_from) return call;
  const bool callback = is_transient_program(id.program);
  CompoundReader reader(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction(removed, padded_from);
  AskedSum asked;
  HeldItems held;
  while (const Operation* operation = reader.next()) {
    if (!callback) {
      asked.add(operation->op, args, reader.offset());
      if (items != nullptr) {
        held.clear();
        find_operation_items(operation->op, args, reader.offset(), reader.index(), reduction, held);
      }
    }
    reader.skip_arguments(*operation, reduction);
    if (reduction.has_passed_unseen(reader.offset()) || reduction.has_met_padding()) {
      reader.set_failed();
    } else if (items != nullptr && !callback) {
      held.pass_to(*items);
    }
  }
  reader.take(call.ops);
  call.results_asked = asked.sum();
  return call;
}

CompoundOps parse_compound_call(const ProcedureId& id, wire::Bytes args,
                                std::span<const Removed> removed, std::uint32_t padded_from) {
  return read_compound_call(id, args, removed, padded_from, nullptr).ops;
}

}  // namespace rpcrdma::decode
