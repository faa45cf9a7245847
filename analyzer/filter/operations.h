// NFS operations by one name in all versions.
#pragma once

#include "values.h"

#include <vector>

#include <rpcrdma/decode/possible_names.h>
#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter {

// The number of a value that has a name only: no literal of a filter reaches it.
inline constexpr std::uint64_t kNameOnly = std::uint64_t{1} << 40;

// Adds what the message's own fields leave out. A procedure of NFS version 2 or 3 counts as the
// operation (nfs.op) that has its name in version 4, with that number if there is one. The
// operations of a COMPOUND count as its procedures (rpc.procedure, rpc.procedure_name), by name.
void add_operations(const model::Message& message, const FieldSet& wanted, Values& values);

// Returns the names of the procedures of NFS versions 2 and 3.
[[nodiscard]] const std::vector<decode::ValueName>& early_nfs_procedures();

}  // namespace rpcrdma::filter
