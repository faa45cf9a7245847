// Universal addresses, the form in which rpcbind stores where a program is, and the netids of
// RPC-over-RDMA (RFC 5665 sections 5.1 and 5.2; netids "rdma" and "rdma6": RFC 8166 section 9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::rpcbind {

// Default port of NFS and every other program over RDMA (IANA: nfsrdma).
inline constexpr std::uint16_t kRdmaPort = 20049;

// "rdma" for IPv4, "rdma6" for IPv6.
[[nodiscard]] const char* rdma_netid(const fabric::Address& address);

// "192.0.2.1.78.81", "2001:db8::1.78.81": the address, and the port's two octets. A scope, which is
// valid on one machine only, is omitted.
[[nodiscard]] std::string to_universal(const fabric::Endpoint& endpoint);

// Returns nothing if the text is not a universal address, or has port 0. `text` may be untrusted.
[[nodiscard]] std::optional<fabric::Endpoint> parse_universal(std::string_view text);

}  // namespace rpcrdma::rpcbind
