// Identifiers that differ on all hosts.
#pragma once

#include <string>

namespace rpcrdma::fleet {

// 16 hexadecimal digits.
[[nodiscard]] std::string random_id();

}  // namespace rpcrdma::fleet
