// Converts a fabric address and port to an operating system's socket address, and back.
#pragma once

#include <cstdint>
#include <optional>

#include <netinet/in.h>
#include <sys/socket.h>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::fabric {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct Endpoint {
  Address address;
  std::uint16_t port = 0;
};

[[nodiscard]] SocketAddress to_socket_address(const Address& address, std::uint16_t port);
[[nodiscard]] socklen_t length_of(const SocketAddress& address);
// Returns nothing for a family other than IPv4 and IPv6.
[[nodiscard]] std::optional<Endpoint> to_endpoint(const SocketAddress& address);

}  // namespace rpcrdma::fabric
