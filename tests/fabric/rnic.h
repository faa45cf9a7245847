// An RDMA device of this machine, for tests that need one.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <rpcrdma/verbs/provider.h>
#include <rpcrdma/verbs/system.h>

namespace rpcrdma::testing {

// Returns the address in RPCRDMA_TEST_RNIC, or the first IPv4 address of a port that is up.
inline std::optional<fabric::Address> rnic_address() {
  if (const char* const named = std::getenv("RPCRDMA_TEST_RNIC")) {
    return fabric::parse_address(named).value();
  }
  for (const verbs::Rnic& rnic : verbs::look_at_system().devices) {
    for (const verbs::Port& port : rnic.ports) {
      if (port.state != "ACTIVE") continue;
      for (const verbs::Gid& gid : port.gids) {
        const auto address = gid.address();
        if (!address || address->ipv6) continue;
        const auto device = verbs::VerbsProvider::device_of(*address);
        if (device && !device->empty()) return address;
      }
    }
  }
  return std::nullopt;
}

// Linux's rxe (6.1 and later) checks a memory window's rights, connection and lifetime, and not its
// bounds, only those of the memory region below it.
inline bool keeps_bounds(const fabric::Address& address) {
  return !verbs::VerbsProvider::device_of(address).value_or("").starts_with("rxe");
}

inline std::unique_ptr<fabric::Provider> open_rnic(const fabric::Address& address,
                                                   trace::Tracer* tracer = nullptr) {
  verbs::VerbsOptions options;
  options.address = address;
  options.tracer = tracer;
  auto opened = verbs::VerbsProvider::open(options);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? std::move(*opened) : nullptr;
}

}  // namespace rpcrdma::testing
