// Splits the text of a filter into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

enum class TokenKind : std::uint8_t {
  kWord,    // a field, number, address, name or spelled-out operator: the parser decides
  kString,  // in quotes
  kOpen,
  kClose,
  kOpenSet,
  kCloseSet,
  kComma,
  kRange,  // ..
  kNot,
  kAnd,
  kOr,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kTilde,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // kWord, kString: its content
  std::size_t offset = 0;
  std::size_t length = 0;
};

// Longer filters are rejected.
inline constexpr std::size_t kMaxFilterLength = 8192;

// The last token is kEnd.
[[nodiscard]] tl::expected<std::vector<Token>, FilterError> tokens(std::string_view text);

}  // namespace rpcrdma::filter
