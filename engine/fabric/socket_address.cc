#include <cstring>

#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::fabric {

SocketAddress to_socket_address(const Address& address, std::uint16_t port) {
  SocketAddress out;
  if (address.ipv6) {
    out.v6 = {};
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(port);
    out.v6.sin6_scope_id = address.scope;
    std::memcpy(&out.v6.sin6_addr, address.bytes.data(), sizeof out.v6.sin6_addr);
  } else {
    out.v4 = {};
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(port);
    std::memcpy(&out.v4.sin_addr, address.bytes.data(), sizeof out.v4.sin_addr);
  }
  return out;
}

socklen_t length_of(const SocketAddress& address) {
  return address.any.sa_family == AF_INET6 ? sizeof address.v6 : sizeof address.v4;
}

std::optional<Endpoint> to_endpoint(const SocketAddress& address) {
  Endpoint endpoint;
  if (address.any.sa_family == AF_INET6) {
    endpoint.address.ipv6 = true;
    endpoint.address.scope = address.v6.sin6_scope_id;
    endpoint.port = ntohs(address.v6.sin6_port);
    std::memcpy(endpoint.address.bytes.data(), &address.v6.sin6_addr, 16);
  } else if (address.any.sa_family == AF_INET) {
    endpoint.port = ntohs(address.v4.sin_port);
    std::memcpy(endpoint.address.bytes.data(), &address.v4.sin_addr, 4);
  } else {
    return std::nullopt;
  }
  return endpoint;
}

}  // namespace rpcrdma::fabric
