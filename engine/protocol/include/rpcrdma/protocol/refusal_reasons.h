// Reasons of refusals that a limit of this side caused (ResponderOptions), so that an owner can
// name the option that sets the limit.
#pragma once

#include <string_view>

namespace rpcrdma::protocol {

inline constexpr const char* kReadsTooLong = "the Read chunks are longer than is accepted";
inline constexpr const char* kTooManySegments = "the chunks have more segments than are accepted";
inline constexpr const char* kTooManyWriteChunks =
    "the Write list has more chunks than are accepted";

}  // namespace rpcrdma::protocol
