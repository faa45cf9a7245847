// Describes messages that the scripted peer receives.
#pragma once

#include "../rules/message.h"

#include <string>

namespace rpcrdma::hostile {

// Decodes any message; parts that cannot be decoded keep their defaults.
[[nodiscard]] scenes::Message read_message(const scenes::Bytes& message);

// "ERR_CHUNK", "Reply, GARBAGE_ARGS".
[[nodiscard]] std::string in_words(const scenes::Bytes& message);

}  // namespace rpcrdma::hostile
