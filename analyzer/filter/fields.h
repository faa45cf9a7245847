// How a filter sees the schema's fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::filter {

// What a field's values are compared as.
enum class ValueClass : std::uint8_t {
  kPresence,  // there or not: subtrees
  kNumber,    // integers and frames
  kBool,
  kDuration,
  kTime,
  kText,
  kBytes,
  kAddress,
};

[[nodiscard]] ValueClass value_class(decode::FieldType type);

// "a number (uint32)", for messages.
[[nodiscard]] std::string describe_type(decode::FieldType type);

}  // namespace rpcrdma::filter
