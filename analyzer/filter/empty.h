// Finds filters that no message of any capture can match.
#pragma once

#include "syntax.h"

#include <optional>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

// Returns why the expression, whose tests have all been checked, can match nothing; nothing if it
// may match, or if these simple means do not show it.
[[nodiscard]] std::optional<FilterError> why_empty(const Expression& expression);

}  // namespace rpcrdma::filter
