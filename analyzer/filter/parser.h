// Parses the text of a filter:
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

// Limit for the nesting of parentheses and negations; it bounds the recursion of the parser and of
// everything that walks the expression.
inline constexpr unsigned kMaxDepth = 64;

[[nodiscard]] tl::expected<Expression, FilterError> parse(std::string_view text);

}  // namespace rpcrdma::filter
