#include <array>

#include <fmt/core.h>
#include <rpc/rpc.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/text.h>
#include <rpcrdma/nfs_probe/mount.h>
#include <rpcrdma/rpcbind/rpcbind.h>
#include <rpcrdma/rpcbind/stream_client.h>

namespace rpcrdma::nfs_probe {
namespace {

using fabric::Errc;
using fabric::Expected;
using fabric::fail;
using rpcbind::StreamClient;

constexpr std::uint32_t kMount = 100005;
constexpr std::uint32_t kMountVersion = 3;
constexpr std::uint32_t kMnt = 1, kUmnt = 3;
constexpr unsigned kMostPath = 1024, kMostFlavors = 64;

struct MountReply {
  unsigned status = 0;
  std::array<char, service::nfs3::Handle::kMost> handle{};
  unsigned handle_bytes = 0;
  std::array<unsigned, kMostFlavors> flavors{};
  unsigned flavor_count = 0;
};

bool_t xdr_path(XDR* xdr, char** path) {
  return ::xdr_string(xdr, path, kMostPath);
}

bool_t xdr_mount_reply(XDR* xdr, MountReply* reply) {
  if (::xdr_u_int(xdr, &reply->status) == 0) return 0;
  if (reply->status != 0) return 1;
  char* handle = reply->handle.data();
  if (::xdr_bytes(xdr, &handle, &reply->handle_bytes, service::nfs3::Handle::kMost) == 0) return 0;
  if (::xdr_u_int(xdr, &reply->flavor_count) == 0) return 0;
  if (reply->flavor_count > kMostFlavors) return 0;
  for (unsigned i = 0; i < reply->flavor_count; ++i) {
    if (::xdr_u_int(xdr, &reply->flavors[i]) == 0) return 0;
  }
  return 1;
}

// Returns the text of a mountstat3.
std::string refusal(unsigned status) {
  switch (status) {
    case 1:
      return "MNT3ERR_PERM: this user has no permission";
    case 2:
      return "MNT3ERR_NOENT: no such directory on the server";
    case 5:
      return "MNT3ERR_IO";
    case 13:
      return "MNT3ERR_ACCES: it is not exported to this machine, or only to ports below 1024, "
             "which require root";
    case 20:
      return "MNT3ERR_NOTDIR: it is not a directory";
    case 22:
      return "MNT3ERR_INVAL";
    case 63:
      return "MNT3ERR_NAMETOOLONG";
    case 10004:
      return "MNT3ERR_NOTSUPP";
    case 10006:
      return "MNT3ERR_SERVERFAULT";
    default:
      return fmt::format("mountstat3 {}", status);
  }
}

Expected<StreamClient> connect(const MountServer& server) {
  return StreamClient::connect(server.address, server.port, "MOUNT",
                               base::monotonic_ns() + server.timeout);
}

Expected<std::uint16_t> ask_rpcbind(const MountServer& server) {
  rpcbind::Server whom = rpcbind::machine(server.address);
  whom.timeout = server.timeout;
  const auto found = rpcbind::find_tcp(whom, kMount, kMountVersion);
  if (!found) return tl::unexpected(found.error());
  if (*found) return (*found)->port;
  return fail(Errc::kNotConnected,
              "rpcbind lists no MOUNT version 3 over TCP: is rpc.mountd running?");
}

}  // namespace

Expected<Mounted> mount(const MountServer& server, const std::string& path) {
  Mounted mounted;
  mounted.port = server.port;
  if (mounted.port == 0) {
    const auto port = ask_rpcbind(server);
    if (!port) return tl::unexpected(port.error());
    mounted.port = *port;
  }
  auto client = connect({server.address, mounted.port, server.timeout});
  if (!client) return tl::unexpected(client.error());
  std::string copy = path;
  char* argument = copy.data();
  MountReply reply;
  const auto called =
      client->call({kMount, kMountVersion, kMnt}, &xdr_path, &argument, &xdr_mount_reply, &reply);
  if (!called) return tl::unexpected(called.error());
  if (reply.status != 0) return fail(Errc::kNotConnected, refusal(reply.status));
  const auto handle =
      service::nfs3::make_handle(base::as_bytes({reply.handle.data(), reply.handle_bytes}));
  if (!handle) return fail(Errc::kNotConnected, "MOUNT returned an empty handle");
  mounted.handle = *handle;
  mounted.flavors.assign(reply.flavors.begin(), reply.flavors.begin() + reply.flavor_count);
  return mounted;
}

Expected<void> unmount(const MountServer& server, const std::string& path) {
  auto client = connect(server);
  if (!client) return tl::unexpected(client.error());
  std::string copy = path;
  char* argument = copy.data();
  char nothing = 0;
  const auto no_result = [](XDR*, char*) -> bool_t { return 1; };
  return client->call({kMount, kMountVersion, kUmnt}, &xdr_path, &argument, +no_result, &nothing);
}

}  // namespace rpcrdma::nfs_probe
