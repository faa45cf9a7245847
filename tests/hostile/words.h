// What came to the scripted peer, in words.
#pragma once

#include "../rules/message.h"

#include <string>

namespace rpcrdma::hostile {

// The message in it, whatever it is; what cannot be read is left as it is by default.
[[nodiscard]] scenes::Message read_message(const scenes::Bytes& message);

// "ERR_CHUNK", "Reply, GARBAGE_ARGS".
[[nodiscard]] std::string in_words(const scenes::Bytes& message);

}  // namespace rpcrdma::hostile
