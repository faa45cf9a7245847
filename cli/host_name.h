// Host names, addresses and ports on the command line: "10.0.0.1", "fd00::1", "[fd00::1]:20049",
// "server", "server:20049".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>

namespace rpcrdma::cli {

struct HostPort {
  std::string host;                   // without brackets
  std::optional<std::uint16_t> port;  // 1 to 65535
};
// Splits a host and an optional port. An IPv6 address with a port needs brackets.
[[nodiscard]] fabric::Expected<HostPort> split_host(std::string_view text);

// Returns the addresses of a name, IPv4 first, or the address that the text is. It never returns an
// empty list. The error says in one clause what is wrong.
[[nodiscard]] fabric::Expected<std::vector<fabric::Address>> resolve(const std::string& host);

}  // namespace rpcrdma::cli
