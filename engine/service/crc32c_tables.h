// CRC-32C by tables, eight bytes at a time, for processors without an instruction for it, like
// those of emulated guests: ISA-L takes three times as long there.
#pragma once

#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::service {

// Continues `crc`, which is not inverted.
[[nodiscard]] std::uint32_t crc32c_by_tables(wire::Bytes bytes, std::uint32_t crc);

}  // namespace rpcrdma::service
