#include "call_reduction.h"
#include "compound.h"

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::decode {

CompoundOps parse_compound_call(const ProcedureId& id, wire::Bytes args,
                                std::span<const Removed> removed, std::uint32_t padded_from) {
  if (!is_compound(id)) return {};
  // The tag comes first.
  if (args.size() >= 4 && wire::load_be32(args.data()) >= padded_from) return {};
  CompoundReader reader(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction(removed, padded_from);
  while (const Operation* operation = reader.next()) {
    reader.skip_arguments(*operation, reduction);
    if (reduction.has_passed_unseen(reader.offset()) || reduction.has_met_padding()) {
      reader.set_failed();
    }
  }
  return reader.ops();
}

}  // namespace rpcrdma::decode
