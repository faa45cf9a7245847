// What the terminal at standard output can show.
#pragma once

#include <cstddef>

namespace rpcrdma::cli {

// Columns: COLUMNS when it is set, else what the terminal says, else 80.
[[nodiscard]] std::size_t terminal_width();

// The locale's characters are UTF-8.
[[nodiscard]] bool utf8_wanted();

}  // namespace rpcrdma::cli
