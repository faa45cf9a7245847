// Lines as long as a terminal is wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcrdma::report {

// Breaks each line of `text` between words, so that it takes at most `width` columns where its
// words allow it; what goes on is indented two columns more than its line. Escape sequences of
// colours take no column, and a UTF-8 character takes one. 0: leaves all lines as they are.
[[nodiscard]] std::string fold(std::string_view text, std::size_t width);

}  // namespace rpcrdma::report
