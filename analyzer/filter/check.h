// Looks up the field of a test, and reads its literals according to the field's type.
#pragma once

#include "condition.h"
#include "syntax.h"

#include <tl/expected.hpp>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

// The largest value of an integer type.
[[nodiscard]] std::uint64_t largest(decode::FieldType type);

[[nodiscard]] tl::expected<Condition, FilterError> check(const Test& test);

}  // namespace rpcrdma::filter
