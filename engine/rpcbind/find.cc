#include "read_address.h"

#include <fmt/core.h>

#include <rpcrdma/rpcbind/rpcbind.h>
#include <rpcrdma/rpcbind/universal_address.h>

namespace rpcrdma::rpcbind {

Server this_machine() {
  return {kLocalSocket, fabric::make_ipv4(127, 0, 0, 1)};
}

Server machine(const fabric::Address& address) {
  return {"", address};
}

fabric::Expected<std::optional<fabric::Endpoint>> read_address(std::uint32_t program,
                                                               const std::string& address) {
  const auto endpoint = parse_universal(address);
  if (endpoint) return endpoint;
  return fabric::fail(
      fabric::Errc::kSystem,
      fmt::format("rpcbind has an invalid address for program {}: {}", program, quoted(address)));
}

fabric::Expected<std::optional<fabric::Endpoint>> find(const Server& server, std::uint32_t program,
                                                       std::uint32_t version,
                                                       const std::string& netid) {
  const auto all = dump(server);
  if (!all) return tl::unexpected(all.error());
  const Registration* found = nullptr;
  for (const Registration& r : *all) {
    if (r.program != program || r.netid != netid) continue;
    if (found == nullptr || r.version == version) found = &r;
  }
  if (found == nullptr) return std::nullopt;
  return read_address(program, found->address);
}

}  // namespace rpcrdma::rpcbind
