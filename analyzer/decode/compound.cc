#include "compound.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::decode {
namespace {

bool is_callback(const ProcedureId& id) {
  return is_transient_program(id.program);
}

}  // namespace

bool is_compound(const ProcedureId& id) {
  if (id.procedure != 1) return false;
  if (id.program == kProgNfs) return id.version == 4;
  return is_callback(id) && program_name(id.program, id.version, id.procedure) != nullptr;
}

CompoundReader::CompoundReader(const ProcedureId& id, Part part, wire::Bytes stream)
    : reader_(stream), callback_(is_callback(id)) {
  if (part == Part::kArguments) {
    (void)reader_.opaque();  // tag
    ops_.minor = reader_.u32();
    if (callback_) (void)reader_.u32();  // callback_ident
  } else {
    ops_.status = reader_.u32();
    (void)reader_.opaque();  // tag
  }
  ops_.announced = reader_.u32();
}

const Operation* CompoundReader::next() {
  if (!reader_.ok() || seen_ == ops_.announced) return nullptr;
  const std::uint32_t op = reader_.u32();
  const Operation* operation = callback_ ? find_callback_operation(op) : find_operation(op);
  if (operation == nullptr) {
    reader_.set_failed();
    return nullptr;
  }
  if (ops_.kept < CompoundOps::kMaxKept) ops_.op[ops_.kept++] = op;
  ++seen_;
  return operation;
}

void CompoundReader::skip_arguments(const Operation& operation, Reduction& reduction) {
  skip_value(reader_, operation.arguments, reduction);
}

void CompoundReader::skip_results(const Operation& operation, Reduction& reduction) {
  const std::uint32_t status = reader_.u32();
  if (status == 0) {
    skip_value(reader_, operation.results, reduction);
  } else if (status == operation.failure.value ||
             operation.failure.value == Operation::kEveryFailure) {
    skip_value(reader_, operation.failure.shape, reduction);
  }
}

void CompoundReader::skip_stray_roundup(std::uint32_t bytes) {
  if (!reader_.ok() || reader_.remaining() < 4 || seen_ == ops_.announced) return;
  if (wire::load_be32(reader_.data().data() + reader_.offset()) == 0) reader_.skip(bytes);
}

CompoundOps CompoundReader::ops() const {
  CompoundOps ops;
  take(ops);
  return ops;
}

void CompoundReader::take(CompoundOps& ops) const {
  ops = ops_;
  ops.complete = reader_.ok() && ops.kept == ops.announced;
}

}  // namespace rpcrdma::decode
