// Decompresses sections and chunks of a trace.dat. Their sizes are stated beside them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::trace_dat {

[[nodiscard]] bool knows_compression(std::string_view name);
[[nodiscard]] std::string unknown_compression(std::string_view name);

// Decompresses into `out`, which gets `whole` bytes.
[[nodiscard]] base::Expected<void> inflate_section(std::string_view compression,
                                                   std::span<const std::uint8_t> stored,
                                                   std::uint32_t whole,
                                                   std::vector<std::uint8_t>& out);

}  // namespace rpcrdma::trace_dat
