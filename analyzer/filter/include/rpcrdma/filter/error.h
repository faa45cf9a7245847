// What is wrong with the text of a filter, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcrdma::filter {

struct FilterError {
  std::size_t offset = 0;  // in the text, bytes
  std::size_t length = 0;  // of what is wrong; 0 at the text's end
  std::string message;     // one clause, without a full stop
};

// Three lines without a newline at the end: the message with its column (from 1), the filter, and a
// mark under what is wrong. Of a long filter only what is near; what is not printable as '?'.
[[nodiscard]] std::string explain(std::string_view text, const FilterError& error);

}  // namespace rpcrdma::filter
