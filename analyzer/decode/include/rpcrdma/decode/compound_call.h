// One walk over the arguments of an NFSv4 COMPOUND, for users who need several of its results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

struct CompoundCall {
  CompoundOps ops;                             // see parse_compound_call()
  std::optional<std::uint64_t> results_asked;  // see results_asked()
};

// `args`, `removed`, `padded_from`: as for parse_compound_call(). `items`, if not null, receives
// those of find_nfs_items(). CB_COMPOUNDs request no bytes and have no items.
[[nodiscard]] CompoundCall read_compound_call(const ProcedureId& id, wire::Bytes args,
                                              std::span<const Removed> removed,
                                              std::uint32_t padded_from, NfsItemSink* items);

}  // namespace rpcrdma::decode
