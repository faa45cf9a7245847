// From text to an expression:
//
//   or         = and { ("||" | "or") and }
//   and        = not { ("&&" | "and") not }
//   not        = { "!" | "not" } primary
//   primary    = "(" or ")" | test
//   test       = field [ comparison literal | "in" "{" range { "," range } "}"
//                      | ("contains" | "matches" | "~") literal ]
//   range      = literal [ ".." literal ]
//   comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "eq" | "ne" | "lt" | "le" | "gt" | "ge"
#pragma once

#include "syntax.h"

#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

// Parentheses and negations may stand in one another so deep; the parser's own recursion and that
// of all who walk the expression are bounded by it.
inline constexpr unsigned kMaxDepth = 64;

[[nodiscard]] tl::expected<Expression, FilterError> parse(std::string_view text);

}  // namespace rpcrdma::filter
