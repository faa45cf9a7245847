// The filter's view of the schema's fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/decode/schema.h>

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

}  // namespace rpcrdma::filter
