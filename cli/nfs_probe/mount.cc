#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>
#include <sys/socket.h>

#include <rpcrdma/fabric/file_descriptor.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/nfs_probe/mount.h>

namespace rpcrdma::nfs_probe {
namespace {

using fabric::Errc;
using fabric::Expected;
using fabric::fail;
using fabric::FileDescriptor;

constexpr rpcprog_t kMount = 100005;
constexpr rpcvers_t kMountVersion = 3;
constexpr rpcproc_t kMnt = 1, kUmnt = 3;
constexpr rpcvers_t kRpcbindVersion = 3;
constexpr rpcproc_t kGetaddr = 3;
constexpr std::uint16_t kRpcbindPort = 111;
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

// mountstat3
std::string refusal(unsigned status) {
  switch (status) {
    case 1:
      return "MNT3ERR_PERM: not for this user";
    case 2:
      return "MNT3ERR_NOENT: there is no such folder on the server";
    case 5:
      return "MNT3ERR_IO";
    case 13:
      return "MNT3ERR_ACCES: it is not exported to this machine, or only to ports below 1024, "
             "which "
             "root can use";
    case 20:
      return "MNT3ERR_NOTDIR: it is no folder";
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

int milliseconds(fabric::Time time) {
  return static_cast<int>(time / fabric::kMillisecond);
}

// From a port below 1024 where that can be had: many exports are for such only.
Expected<FileDescriptor> connect_tcp(const MountServer& server, std::uint16_t port,
                                     const char* whose) {
  const fabric::SocketAddress to = fabric::to_socket_address(server.address, port);
  const auto refused = [&](int error) {
    return fail(Errc::kNotConnected,
                fmt::format("{} at {} TCP port {}: {}", whose, server.address.to_string(), port,
                            std::strerror(error)));
  };
  FileDescriptor socket(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return refused(errno);
  (void)::bindresvport_sa(socket.get(), nullptr);
  if (::connect(socket.get(), &to.any, length_of(to)) != 0) {
    if (errno != EINPROGRESS) return refused(errno);
    pollfd wait{socket.get(), POLLOUT, 0};
    const int n = ::poll(&wait, 1, milliseconds(server.timeout));
    if (n == 0) return refused(ETIMEDOUT);
    int error = 0;
    socklen_t size = sizeof error;
    if (n < 0 || ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      return refused(errno);
    }
    if (error != 0) return refused(error);
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return refused(errno);
  return socket;
}

// libtirpc's client of one program, over a connection that was made here.
class RpcClient {
 public:
  static Expected<RpcClient> create(const MountServer& server, std::uint16_t port,
                                    rpcprog_t program, rpcvers_t version, const char* name) {
    auto socket = connect_tcp(server, port, name);
    if (!socket) return tl::unexpected(socket.error());
    fabric::SocketAddress to = fabric::to_socket_address(server.address, port);
    netbuf address{};
    address.len = address.maxlen = length_of(to);
    address.buf = &to;
    CLIENT* const client = ::clnt_vc_create(socket->get(), &address, program, version, 0, 0);
    if (client == nullptr) return fail(Errc::kSystem, fmt::format("{}: {}", name, rpc_error()));
    auth_destroy(client->cl_auth);
    client->cl_auth = ::authunix_create_default();
    return RpcClient(std::move(*socket), client, server.timeout, name);
  }
  RpcClient(RpcClient&& other) noexcept
      : socket_(std::move(other.socket_)),
        client_(std::exchange(other.client_, nullptr)),
        timeout_(other.timeout_),
        name_(other.name_) {}
  ~RpcClient() {
    if (client_ == nullptr) return;
    auth_destroy(client_->cl_auth);
    clnt_destroy(client_);
  }
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;
  RpcClient& operator=(RpcClient&&) = delete;

  template <typename Argument, typename Result>
  Expected<void> call(rpcproc_t procedure, bool_t (*encode)(XDR*, Argument*), Argument* argument,
                      bool_t (*decode)(XDR*, Result*), Result* result) {
    const timeval timeout{timeout_ / fabric::kSecond,
                          timeout_ % fabric::kSecond / fabric::kMicrosecond};
    // Its signature is that of the functions of XDR, whatever they are of.
    const auto status = clnt_call(client_, procedure, reinterpret_cast<xdrproc_t>(encode), argument,
                                  reinterpret_cast<xdrproc_t>(decode), result, timeout);
    if (status == RPC_SUCCESS) return {};
    return fail(Errc::kNotConnected, fmt::format("{}: {}", name_, ::clnt_sperrno(status)));
  }

 private:
  RpcClient(FileDescriptor socket, CLIENT* client, fabric::Time timeout, const char* name)
      : socket_(std::move(socket)), client_(client), timeout_(timeout), name_(name) {}
  static const char* rpc_error() { return ::clnt_sperrno(rpc_createerr.cf_stat); }

  FileDescriptor socket_;
  CLIENT* client_;
  fabric::Time timeout_;
  const char* name_;
};

// The port of a universal address: the last two of its numbers (RFC 5665 section 5.2.3).
std::optional<std::uint16_t> port_of(std::string_view uaddr) {
  unsigned port = 0, weight = 1;
  for (int i = 0; i < 2; ++i) {
    const std::size_t dot = uaddr.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view number = uaddr.substr(dot + 1);
    unsigned value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec != std::errc() || read.ptr != number.data() + number.size() || value > 255) {
      return std::nullopt;
    }
    port += weight * value;
    weight = 256;
    uaddr = uaddr.substr(0, dot);
  }
  if (port == 0) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

Expected<std::uint16_t> ask_rpcbind(const MountServer& server) {
  auto client = RpcClient::create(server, kRpcbindPort, RPCBPROG, kRpcbindVersion, "rpcbind");
  if (!client) return tl::unexpected(client.error());
  std::string netid = server.address.ipv6 ? "tcp6" : "tcp", nothing;
  rpcb what{kMount, kMountVersion, netid.data(), nothing.data(), nothing.data()};
  char* uaddr = nullptr;
  const auto called = client->call(kGetaddr, &::xdr_rpcb, &what, &::xdr_wrapstring, &uaddr);
  if (!called) return tl::unexpected(called.error());
  const std::string text = uaddr != nullptr ? uaddr : "";
  ::free(uaddr);
  if (const auto port = port_of(text)) return *port;
  return fail(Errc::kNotConnected,
              text.empty() ? "rpcbind knows no MOUNT version 3 over TCP: is rpc.mountd running?"
                           : fmt::format("rpcbind has a strange address of MOUNT: {}", text));
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
  auto client = RpcClient::create(server, mounted.port, kMount, kMountVersion, "MOUNT");
  if (!client) return tl::unexpected(client.error());
  std::string copy = path;
  char* argument = copy.data();
  MountReply reply;
  const auto called = client->call(kMnt, &xdr_path, &argument, &xdr_mount_reply, &reply);
  if (!called) return tl::unexpected(called.error());
  if (reply.status != 0) return fail(Errc::kNotConnected, refusal(reply.status));
  const auto handle = service::nfs3::make_handle(
      {reinterpret_cast<const std::uint8_t*>(reply.handle.data()), reply.handle_bytes});
  if (!handle) return fail(Errc::kNotConnected, "MOUNT gave an empty handle");
  mounted.handle = *handle;
  mounted.flavors.assign(reply.flavors.begin(), reply.flavors.begin() + reply.flavor_count);
  return mounted;
}

void unmount(const MountServer& server, const std::string& path) {
  auto client = RpcClient::create(server, server.port, kMount, kMountVersion, "MOUNT");
  if (!client) return;
  std::string copy = path;
  char* argument = copy.data();
  char nothing = 0;
  const auto no_result = [](XDR*, char*) -> bool_t { return 1; };
  (void)client->call(kUmnt, &xdr_path, &argument, +no_result, &nothing);
}

}  // namespace rpcrdma::nfs_probe
