#include "rpcbind_option.h"

#include "input.h"

#include <vector>

#include <fmt/core.h>

#include <rpcrdma/rpcbind/rpcbind.h>
#include <rpcrdma/rpcbind/universal_address.h>

namespace rpcrdma::cli {

void add_ask_rpcbind(command_line::Command& command, bool& ask) {
  command.flag("--rpcbind", ask, "Ask HOST's rpcbind for the port, at its TCP port 111")
      .excludes("--port");
}

std::uint16_t ask_rpcbind(const fabric::Address& server, std::uint32_t program,
                          std::uint32_t version, const char* command) {
  const char* const netid = rpcbind::rdma_netid(server);
  const auto found = rpcbind::find(rpcbind::machine(server), program, version, netid);
  if (found && *found) return (*found)->port;
  complain(fmt::format("{}: {}: {}; trying port {}", command, server.to_string(),
                       found ? fmt::format("rpcbind has no program {} for netid {}", program, netid)
                             : found.error().message,
                       rpcbind::kRdmaPort));
  return rpcbind::kRdmaPort;
}

std::optional<rpcbind::Announcement> announce(std::span<service::Program* const> programs,
                                              const fabric::Endpoint& address,
                                              const char* command) {
  std::vector<rpcbind::Program> all;
  for (const service::Program* p : programs) all.push_back({p->number(), p->version()});
  auto made = rpcbind::Announcement::make(rpcbind::this_machine(), address, all);
  if (!made) {
    complain(fmt::format("{}: --rpcbind: {}", command, made.error().message));
    return std::nullopt;
  }
  for (const rpcbind::Registration& r : made->replaced()) {
    complain(fmt::format("{}: --rpcbind: replaces {}, where program {} version {} was registered",
                         command, rpcbind::quoted(r.address), r.program, r.version));
  }
  for (const rpcbind::Registration& r : made->registered()) {
    fmt::print("registered with rpcbind: program {:#x} version {}, netid {}, address {}\n",
               r.program, r.version, r.netid, r.address);
  }
  return std::move(*made);
}

}  // namespace rpcrdma::cli
