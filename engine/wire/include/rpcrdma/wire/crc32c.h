// CRC-32C (Castagnoli), which MPA computes over each FPDU (RFC 5044 section 4.4).
#pragma once

#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// Returns the value in host order. It is on the wire with its least significant byte first.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes);

}  // namespace rpcrdma::wire
