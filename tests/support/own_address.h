// Loopback addresses for one test alone.
#pragma once

#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace rpcrdma::e2e {

// Returns an address that no other test on this machine uses at the same time.
inline std::string own_address(int last) {
  const auto pid = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}", 100 + pid % 100, pid / 100 % 256, last);
}

}  // namespace rpcrdma::e2e
