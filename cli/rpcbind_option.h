// What commands have to do with rpcbind: servers make themselves known to it, and clients ask it
// for a server's port.
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

// --rpcbind of a command that calls.
void add_ask_rpcbind(command_line::Command& command, bool& ask);

// The port that the machine's rpcbind has for the program over RDMA. Where it has none, or there is
// none: the well-known port, and a line on stderr.
[[nodiscard]] std::uint16_t ask_rpcbind(const fabric::Address& server, std::uint32_t program,
                                        std::uint32_t version, const char* command);

// Registers the programs with this machine's rpcbind, and says so on stdout; else a line on stderr
// and nothing.
[[nodiscard]] std::optional<rpcbind::Announcement> announce(
    std::span<service::Program* const> programs, const fabric::Endpoint& address,
    const char* command);

}  // namespace rpcrdma::cli
