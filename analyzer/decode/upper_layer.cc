#include "call_reduction.h"
#include "compound.h"

#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {

CompoundOps parse_compound_call(const ProcedureId& id, wire::Bytes args,
                                std::span<const Removed> removed) {
  if (!is_compound(id)) return {};
  CompoundReader reader(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction(removed);
  while (const Operation* operation = reader.next()) {
    reader.skip_arguments(*operation, reduction);
    if (reduction.has_passed_unseen(reader.offset())) reader.set_failed();
  }
  return reader.ops();
}

}  // namespace rpcrdma::decode
