// How much a packet may carry on the interface that an address belongs to.
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::soft {

// Bytes of an IP packet. 0: no interface has exactly this address, as of 127.0.0.2.
[[nodiscard]] std::uint32_t link_mtu(const fabric::Address& local);

// The largest path MTU (256 to 4096 bytes of payload) whose packets fit such a link with all their
// headers; 256 where none does.
[[nodiscard]] std::uint32_t path_mtu_on(std::uint32_t link_mtu);

}  // namespace rpcrdma::soft
