// The syntax tree of a filter, before fields and values are looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpcrdma::filter {

struct Literal {
  std::string text;
  bool quoted = false;
  std::size_t offset = 0;  // in the filter's text
  std::size_t length = 0;
};

enum class Relation : std::uint8_t {
  kExists,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kContains,
  kMatches,
};

// "==", "contains", ...
[[nodiscard]] const char* relation_name(Relation relation);

struct Operand {
  Literal low;
  std::optional<Literal> high;  // low..high
};

struct Test {
  Literal field;
  Relation relation = Relation::kExists;
  std::size_t offset = 0;  // of the relation
  std::size_t length = 0;
  std::vector<Operand> operands;  // kIn: one or more; kExists: none; the others: one
};

struct Expression {
  enum class Kind : std::uint8_t { kTest, kNot, kAnd, kOr };
  Kind kind = Kind::kTest;
  Test test;                      // kTest
  std::vector<Expression> parts;  // kNot: one; kAnd, kOr: two or more
};

}  // namespace rpcrdma::filter
