// Text from a peer, for formats that demand valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace rpcrdma::decode {

// `text` with every byte that is no part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace rpcrdma::decode
