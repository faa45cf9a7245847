// rpcbind: servers register with it, and clients ask it for a server's port.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/fabric/address.h>
#include <rpcrdma/rpcbind/announcement.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::cli {

// Adds --rpcbind to a command that sends Calls.
void add_ask_rpcbind(command_line::Command& command, bool& ask);

// Returns the port at which the machine's rpcbind lists the program over RDMA. If it lists none or
// does not run, prints a line on stderr and returns the well-known port.
[[nodiscard]] std::uint16_t ask_rpcbind(const fabric::Address& server, std::uint32_t program,
                                        std::uint32_t version, const char* command);

// Registers the programs with this machine's rpcbind and prints a line on stdout; on an error
// prints a line on stderr and returns nothing.
[[nodiscard]] std::optional<rpcbind::Announcement> announce(
    std::span<service::Program* const> programs, const fabric::Endpoint& address,
    const char* command);

}  // namespace rpcrdma::cli
