// Names of what op= selects.
#pragma once

#include <string_view>

#include <rpcrdma/soft/fault_rules.h>

namespace rpcrdma::soft {

// Adds what `name` stands for to `ops`; false when there is no such name.
[[nodiscard]] bool add_fault_op(std::string_view name, FaultOps& ops);

}  // namespace rpcrdma::soft
