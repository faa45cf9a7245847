// Describes why a connection was rejected, for the user.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::fabric {

// Returns, for example, "reason 28 (consumer reject): too many connections". `words` is the peer's
// explanation, such as the private data of a kRejected event; its leading printable text is used.
[[nodiscard]] std::string rejection(std::uint16_t reason, std::span<const std::uint8_t> words = {});

}  // namespace rpcrdma::fabric
