// Identifiers that differ on all hosts.
#pragma once

#include <array>
#include <random>
#include <string>

#include <fmt/core.h>

namespace rpcrdma::agent {

// 16 hexadecimal digits.
[[nodiscard]] inline std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace rpcrdma::agent
