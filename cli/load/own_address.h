// The address under which other ranks reach the server of this one.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace rpcrdma::cli {

// `network`: an interface, a network such as 10.77.0.0/24, or empty: the only address that is not
// of the loopback interface. Of several in a given network, the first. Error: one clause for
// display.
[[nodiscard]] tl::expected<std::string, std::string> own_address(const std::string& network);

}  // namespace rpcrdma::cli
