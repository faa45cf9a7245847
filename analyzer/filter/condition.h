// A test on one field, with its values evaluated.
#pragma once

#include "syntax.h"
#include "values.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/decode/schema.h>

namespace re2 {
class RE2;
}

namespace rpcrdma::filter {

// The kind of comparison that a field's values support.
enum class ValueClass : std::uint8_t {
  kPresence,  // present or absent: subtrees
  kNumber,    // integers and frames
  kBool,
  kDuration,
  kTime,
  kText,
  kBytes,
  kAddress,
};

[[nodiscard]] ValueClass value_class(decode::FieldType type);

// "a number (uint32)", for error messages.
[[nodiscard]] std::string describe_type(decode::FieldType type);

// A value or a range of values, both ends included.
struct Constant {
  bool by_name = false;   // the value's name must be `low_text`
  std::uint64_t low = 0;  // numbers; signed ones mapped by rank()
  std::uint64_t high = 0;
  std::string low_text;   // text, bytes, addresses in network order
  std::string high_text;  // addresses
};

// Maps signed numbers to unsigned ones in the same order.
[[nodiscard]] constexpr std::uint64_t rank(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

struct Condition {
  decode::FieldId field{};
  ValueClass type = ValueClass::kPresence;
  Relation relation = Relation::kExists;
  std::vector<Constant> constants;
  std::shared_ptr<const re2::RE2> pattern;  // kMatches
};

// For a field that occurs several times, one matching value suffices; for kNotEqual all must
// differ. A field that does not occur never matches.
[[nodiscard]] bool holds(const Condition& condition, const Values& values);

}  // namespace rpcrdma::filter
