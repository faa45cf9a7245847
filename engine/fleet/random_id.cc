#include <random>

#include <fmt/core.h>

#include <rpcrdma/fleet/random_id.h>

namespace rpcrdma::fleet {

std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace rpcrdma::fleet
