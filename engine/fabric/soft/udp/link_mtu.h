// The MTU of the interface that an address belongs to.
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::soft {

// Returns the MTU in bytes of an IP packet. 0: no interface has exactly this address, for example
// 127.0.0.2.
[[nodiscard]] std::uint32_t link_mtu(const fabric::Address& local);

// Returns the largest path MTU (256 to 4096 bytes of payload) whose packets fit such a link with
// all their headers; 256 if none does.
[[nodiscard]] std::uint32_t path_mtu_on(std::uint32_t link_mtu);

}  // namespace rpcrdma::soft
