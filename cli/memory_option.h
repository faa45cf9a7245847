// The option --max-memory of a server: its default, and what of it is for the pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rpcrdma::cli {

// What a server needs apart from the blocks of Calls.
struct MemoryNeeds {
  std::uint32_t max_bulk = 0;     // bytes
  std::uint32_t connections = 0;  // the maximum
  std::uint64_t drc_bytes = 0;    // duplicate request cache
};

// Returns the limit of the memory pool, in bytes. `text`: the option's value; empty: the default, a
// part of the machine's memory. Complains and returns nothing if it is no size, or too little.
[[nodiscard]] std::optional<std::uint64_t> pool_limit(const std::string& text,
                                                      const MemoryNeeds& needs,
                                                      const char* command);

}  // namespace rpcrdma::cli
