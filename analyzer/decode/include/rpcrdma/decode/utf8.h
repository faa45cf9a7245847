// Makes text from a peer valid UTF-8, for formats that require it.
#pragma once

#include <string>
#include <string_view>

namespace rpcrdma::decode {

// Returns `text` with U+FFFD in place of every byte that is not part of valid UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace rpcrdma::decode
