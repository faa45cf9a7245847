// Capabilities of the terminal at standard output.
#pragma once

#include <cstddef>

namespace rpcrdma::cli {

// Returns COLUMNS if it is set, else the terminal's width, else 80.
[[nodiscard]] std::size_t terminal_width();

// Returns whether the locale's character set is UTF-8.
[[nodiscard]] bool utf8_wanted();

}  // namespace rpcrdma::cli
