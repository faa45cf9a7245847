// RPC programs that people name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcrdma::cli {

struct RpcProgram {
  std::uint32_t number = 0;
  std::uint32_t version = 0;  // the usual one, of a number 1
};

// For help and complaints: what parse_program() takes.
inline constexpr const char* kProgramNames =
    "echo, nfs, rdmaconfig, a name of /etc/rpc, or a number";

// Nothing for what is neither a name that is known nor a number of 32 bits.
[[nodiscard]] std::optional<RpcProgram> parse_program(std::string_view text);

}  // namespace rpcrdma::cli
