// The names that op= accepts.
#pragma once

#include <string_view>

#include <rpcrdma/soft/fault_rules.h>

namespace rpcrdma::soft {

// Adds the operation `name` to `ops`; false if there is no such name.
[[nodiscard]] bool add_fault_op(std::string_view name, FaultOps& ops);

}  // namespace rpcrdma::soft
