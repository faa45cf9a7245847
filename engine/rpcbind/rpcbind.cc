#include "read_address.h"

#include <array>

#include <fmt/core.h>
#include <netdb.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/rpcbind/rpcbind.h>
#include <rpcrdma/rpcbind/stream_client.h>

namespace rpcrdma::rpcbind {

namespace {

using fabric::Errc;
using fabric::Expected;

constexpr std::uint32_t kVersion4 = 4, kVersion3 = 3;
constexpr std::uint32_t kSet = 1, kUnset = 2, kGetaddr = 3, kDump = 4;
constexpr unsigned kMostText = 255;

Expected<StreamClient> connect(const Server& server) {
  const fabric::Time until = base::monotonic_ns() + server.timeout;
  if (!server.socket.empty()) {
    auto local = StreamClient::connect(server.socket, "rpcbind", until);
    if (local) return local;
  }
  return StreamClient::connect(server.address, server.port, "rpcbind", until);
}

bool_t xdr_text(XDR* xdr, std::string* text) {
  std::array<char, kMostText + 1> bytes{};
  char* to = bytes.data();
  if (::xdr_string(xdr, &to, kMostText) == 0) return 0;
  *text = to;
  return 1;
}

// rpcblist_ptr: an optional entry, followed by the next one.
bool_t xdr_registrations(XDR* xdr, std::vector<Registration>* all) {
  for (;;) {
    bool_t more = 0;
    if (::xdr_bool(xdr, &more) == 0) return 0;
    if (more == 0) return 1;
    Registration r;
    if (::xdr_uint32_t(xdr, &r.program) == 0 || ::xdr_uint32_t(xdr, &r.version) == 0 ||
        xdr_text(xdr, &r.netid) == 0 || xdr_text(xdr, &r.address) == 0 ||
        xdr_text(xdr, &r.owner) == 0) {
      return 0;
    }
    all->push_back(std::move(r));
  }
}

bool_t xdr_nothing(XDR* /*xdr*/, char* /*nothing*/) {
  return 1;
}

Expected<bool> change(const Server& server, std::uint32_t procedure, const Registration& what) {
  auto client = connect(server);
  if (!client) return tl::unexpected(client.error());
  std::string netid = what.netid, address = what.address, owner = what.owner;
  rpcb argument{what.program, what.version, netid.data(), address.data(), owner.data()};
  bool_t done = 0;
  const auto called =
      client->call({RPCBPROG, kVersion4, procedure}, &::xdr_rpcb, &argument, &::xdr_bool, &done);
  if (!called) return tl::unexpected(called.error());
  return done != 0;
}

}  // namespace

Expected<std::vector<Registration>> dump(const Server& server) {
  auto client = connect(server);
  if (!client) return tl::unexpected(client.error());
  for (const std::uint32_t version : {kVersion4, kVersion3}) {
    std::vector<Registration> all;
    char nothing = 0;
    const auto called =
        client->call({RPCBPROG, version, kDump}, &xdr_nothing, &nothing, &xdr_registrations, &all);
    if (called) return all;
    if (called.error().code != Errc::kBadArgument || version == kVersion3) {
      return tl::unexpected(called.error());
    }
  }
  return std::vector<Registration>();
}

Expected<bool> set(const Server& server, const Registration& what) {
  return change(server, kSet, what);
}

Expected<bool> unset(const Server& server, const Registration& what) {
  return change(server, kUnset, what);
}

Expected<std::optional<fabric::Endpoint>> find_tcp(const Server& server, std::uint32_t program,
                                                   std::uint32_t version) {
  auto client = StreamClient::connect(server.address, server.port, "rpcbind",
                                      base::monotonic_ns() + server.timeout);
  if (!client) return tl::unexpected(client.error());
  std::string netid = server.address.ipv6 ? "tcp6" : "tcp", nothing;
  rpcb what{program, version, netid.data(), nothing.data(), nothing.data()};
  std::string found;
  const auto called =
      client->call({RPCBPROG, kVersion3, kGetaddr}, &::xdr_rpcb, &what, &xdr_text, &found);
  if (!called) return tl::unexpected(called.error());
  if (found.empty()) return std::nullopt;
  return read_address(program, found);
}

std::optional<std::uint32_t> program_by_name(const std::string& name) {
  const rpcent* const found = ::getrpcbyname(name.c_str());
  if (found == nullptr) return std::nullopt;
  return static_cast<std::uint32_t>(found->r_number);
}

}  // namespace rpcrdma::rpcbind
