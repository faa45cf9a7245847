// Parses the address that rpcbind returns for a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::rpcbind {

// Error: kSystem: it is invalid.
[[nodiscard]] fabric::Expected<std::optional<fabric::Endpoint>> read_address(
    std::uint32_t program, const std::string& address);

}  // namespace rpcrdma::rpcbind
