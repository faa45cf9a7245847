// Client of rpcbind, which maps the programs of a machine to ports (RFC 1833 sections 2 and 2.1):
// over TCP, or on this machine over its local socket, with libtirpc's encoding. Each function waits
// for its answer, for a bounded time; answers are untrusted, and bounded too.
//
// Clients usually ask with RPCBPROC_GETADDR. It looks for the netid of the transport that the
// request used (RFC 1833 section 2.2.1), whatever the argument says: over TCP it returns the
// program's TCP port. So registrations for RDMA are read from RPCBPROC_DUMP, which lists netids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::rpcbind {

inline constexpr std::uint16_t kPort = 111;
inline constexpr char kLocalSocket[] = "/run/rpcbind.sock";

// A machine's rpcbind.
struct Server {
  std::string socket;  // tried first, unless empty: rpcbind then knows the user at the other end
  fabric::Address address;  // else by TCP
  std::uint16_t port = kPort;
  fabric::Time timeout = 2 * fabric::kSecond;  // for each function as a whole
};
[[nodiscard]] Server this_machine();
[[nodiscard]] Server machine(const fabric::Address& address);

struct Registration {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::string netid;
  std::string address;  // universal; untrusted, as the others
  std::string owner;
};

// Errors of all functions, a clause for display that names the server: kNotConnected: no answer, or
// not in time; kBadArgument: refused with an RPC error; kSystem: an invalid answer, or this program
// was built without libtirpc.

// All registrations: RPCBPROC_DUMP of version 4, or else 3.
[[nodiscard]] fabric::Expected<std::vector<Registration>> dump(const Server& server);

// RPCBPROC_SET. Returns false if rpcbind refuses, usually because the program has another address.
[[nodiscard]] fabric::Expected<bool> set(const Server& server, const Registration& what);

// RPCBPROC_UNSET of a program's version and netid. Returns false if nothing was registered, or by
// another user.
[[nodiscard]] fabric::Expected<bool> unset(const Server& server, const Registration& what);

// Finds the address of a program over this netid, in this version or else in another. Returns
// nothing if it is not registered. Additional error: its address is invalid (kSystem).
[[nodiscard]] fabric::Expected<std::optional<fabric::Endpoint>> find(const Server& server,
                                                                     std::uint32_t program,
                                                                     std::uint32_t version,
                                                                     const std::string& netid);

// Finds the address of a program over TCP, in this version or else in another: RPCBPROC_GETADDR of
// version 3, asked by TCP whatever `server.socket` says. Otherwise as find().
[[nodiscard]] fabric::Expected<std::optional<fabric::Endpoint>> find_tcp(const Server& server,
                                                                         std::uint32_t program,
                                                                         std::uint32_t version);

// Finds a program's number by its name or alias, in /etc/rpc.
[[nodiscard]] std::optional<std::uint32_t> program_by_name(const std::string& name);

// Untrusted text for a message: in quotes, unprintable characters replaced, length limited.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace rpcrdma::rpcbind
