// The shapes of the arguments and results outside COMPOUND that have a DDP-eligible item.
#pragma once

#include "xdr_shape.h"

#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {

// Void: none is DDP-eligible, or the program is not NFS.
[[nodiscard]] Shape eligible_arguments(const ProcedureId& id);
[[nodiscard]] Shape eligible_results(const ProcedureId& id);

}  // namespace rpcrdma::decode
