// Folds lines to the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcrdma::report {

// Breaks each line of `text` between words, so that it has at most `width` columns unless one word
// is longer. Continuation lines are indented by two more columns than their line. Colour escape
// sequences count as no column, a UTF-8 character as one. Width 0 changes nothing.
[[nodiscard]] std::string fold(std::string_view text, std::size_t width);

}  // namespace rpcrdma::report
