// Names of RPC programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcrdma::cli {

struct RpcProgram {
  std::uint32_t number = 0;
  std::uint32_t version = 0;  // the usual version of the program
};

// For help and error messages: what parse_program() accepts.
inline constexpr const char* kProgramNames =
    "echo, nfs, rdmaconfig, a name of /etc/rpc, or a number";

// Returns nothing if the text is neither a known name nor a 32-bit number.
[[nodiscard]] std::optional<RpcProgram> parse_program(std::string_view text);

}  // namespace rpcrdma::cli
