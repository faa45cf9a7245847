// rpcbind, who knows at which port of a machine a program is (RFC 1833 sections 2 and 2.1): asked
// over TCP, or on this machine over its local socket, by libtirpc's encoding. Each function waits
// for its answer, for a bounded time; answers are hostile, and bounded too.
//
// Clients usually ask with RPCBPROC_GETADDR. That looks for the netid which the question came over
// (RFC 1833 section 2.2.1), whatever the argument says: asked over TCP it names the program's TCP
// port. So what is registered for RDMA is read from RPCBPROC_DUMP, which has netids.
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
  std::string socket;  // tried first, unless empty: who is at its other end is known to rpcbind
  fabric::Address address;  // else by TCP
  std::uint16_t port = kPort;
  fabric::Time timeout = 2 * fabric::kSecond;  // of each function, all of it
};
[[nodiscard]] Server this_machine();
[[nodiscard]] Server machine(const fabric::Address& address);

struct Registration {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::string netid;
  std::string address;  // universal; of unknown origin, as the others
  std::string owner;
};

// Errors of all of them, a clause for a person that names the server: kNotConnected, nobody answers
// there, or not in time; kBadArgument, it refuses by an error of RPC; kSystem, its answer makes no
// sense, or this program was built without libtirpc.

// All that is registered: RPCBPROC_DUMP of version 4, or else 3.
[[nodiscard]] fabric::Expected<std::vector<Registration>> dump(const Server& server);

// RPCBPROC_SET. False: it does not take this, usually because the program has another address.
[[nodiscard]] fabric::Expected<bool> set(const Server& server, const Registration& what);

// RPCBPROC_UNSET of a program's version and netid. False: nothing was registered, or by others.
[[nodiscard]] fabric::Expected<bool> unset(const Server& server, const Registration& what);

// Where a program is registered over this netid, in this version or else in another; nothing:
// nowhere. Error also: its address makes no sense (kSystem).
[[nodiscard]] fabric::Expected<std::optional<fabric::Endpoint>> find(const Server& server,
                                                                     std::uint32_t program,
                                                                     std::uint32_t version,
                                                                     const std::string& netid);

// Where a program is registered over TCP, in this version or else in another: RPCBPROC_GETADDR of
// version 3, asked by TCP whatever `server.socket` says. Otherwise as find().
[[nodiscard]] fabric::Expected<std::optional<fabric::Endpoint>> find_tcp(const Server& server,
                                                                         std::uint32_t program,
                                                                         std::uint32_t version);

// A program's number by its name or alias, from /etc/rpc.
[[nodiscard]] std::optional<std::uint32_t> program_by_name(const std::string& name);

// Text of unknown origin for a message: in quotes, what is not printable replaced, not long.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace rpcrdma::rpcbind
