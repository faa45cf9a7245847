// The socket of the HTTP server.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/error.h>

namespace rpcrdma::metrics {

// Listens on the first address of the host that can be listened on; empty: all addresses. Error:
// kSystem.
[[nodiscard]] fabric::Expected<base::FileDescriptor> listen_on(const std::string& host,
                                                               std::uint16_t port);

// The socket's own address, as in a URL; empty if it has none.
[[nodiscard]] std::string address_of(int fd);

}  // namespace rpcrdma::metrics
