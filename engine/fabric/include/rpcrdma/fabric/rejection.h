// Why a connection is not taken, for a person.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::fabric {

// "reason 28 (consumer reject): too many connections". `words`: what whoever refuses says of it,
// the private data of an EventType::kRejected for one; of that, as much as is text.
[[nodiscard]] std::string rejection(std::uint16_t reason, std::span<const std::uint8_t> words = {});

}  // namespace rpcrdma::fabric
