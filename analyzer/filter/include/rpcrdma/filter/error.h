// An error in the text of a filter, and its position.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcrdma::filter {

struct FilterError {
  std::size_t offset = 0;  // in the text, bytes
  std::size_t length = 0;  // of the faulty part; 0 at the text's end
  std::string message;     // one clause, without a full stop
};

// Returns three lines without a newline at the end: the message with its column (from 1), the
// filter, and a mark under the fault. A long filter is shortened around the fault; unprintable
// characters become '?'.
[[nodiscard]] std::string explain(std::string_view text, const FilterError& error);

}  // namespace rpcrdma::filter
