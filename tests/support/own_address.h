// Loopback addresses of a test's own.
#pragma once

#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace rpcrdma::e2e {

// One that no other test on this machine uses at this time.
inline std::string own_address(int last) {
  const auto pid = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}", 100 + pid % 100, pid / 100 % 256, last);
}

}  // namespace rpcrdma::e2e
