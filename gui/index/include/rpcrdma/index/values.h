// The values that a field has in the messages of a store, with their counts: what a user can
// compare the field with.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::index {

struct FieldValue {
  std::uint64_t number = 0;  // of a field of numbers
  std::string text;          // of a number: its name, or empty; of a string: its value, any bytes
  std::uint64_t messages = 0;
};

struct FieldValues {
  static constexpr std::size_t kMost = 256;
  std::vector<FieldValue> values;  // the most frequent first
  bool too_many =
      false;  // the field has more than kMost values, and `values` are only some of them
};

// Reads the rows, some at a time, so that others can use the store between. Stops soon after
// `cancelled` is set, and at kMost values. Returns nothing for a field that rows do not have
// (Search::fields_of_rows()).
[[nodiscard]] FieldValues count_values(const Store& store, decode::FieldId field,
                                       const std::atomic<bool>& cancelled);

}  // namespace rpcrdma::index
