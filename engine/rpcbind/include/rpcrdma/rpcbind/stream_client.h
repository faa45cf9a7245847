// Calls of the programs rpcbind and MOUNT, which do not use RDMA, over TCP or a local socket (RFC
// 5531). It uses libtirpc's encoding but not its client, which restarts its timeout for each piece
// of an answer, so a server that sends an octet now and then would block it forever. For builds
// with libtirpc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rpc/rpc.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::rpcbind {

struct Procedure {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
};

class StreamClient {
 public:
  // `name`: of the server, for messages; `until`: deadline for connecting and all Calls. TCP uses a
  // port below 1024 if possible, since many servers require it. Error: kNotConnected.
  static fabric::Expected<StreamClient> connect(const fabric::Address& address, std::uint16_t port,
                                                std::string name, fabric::Time until);
  static fabric::Expected<StreamClient> connect(const std::string& socket, std::string name,
                                                fabric::Time until);

  // Calls with this user's AUTH_SYS and waits for the Reply. Errors: kNotConnected: none in time;
  // kBadArgument: an RPC error; kSystem: it cannot be decoded. After an error `result` may hold the
  // part decoded so far.
  template <typename Argument, typename Result>
  fabric::Expected<void> call(const Procedure& procedure, bool_t (*encode)(XDR*, Argument*),
                              Argument* argument, bool_t (*decode)(XDR*, Result*), Result* result) {
    // All XDR functions have this signature, apart from the type.
    return call_any(procedure, reinterpret_cast<xdrproc_t>(encode), argument,
                    reinterpret_cast<xdrproc_t>(decode), result);
  }

 private:
  StreamClient(base::FileDescriptor socket, std::string name, fabric::Time until)
      : socket_(std::move(socket)), name_(std::move(name)), until_(until) {}

  static fabric::Expected<StreamClient> connect_to(base::FileDescriptor socket,
                                                   const sockaddr* address, socklen_t length,
                                                   std::string name, const std::string& where,
                                                   fabric::Time until);
  fabric::Expected<void> call_any(const Procedure& procedure, xdrproc_t encode, void* argument,
                                  xdrproc_t decode, void* result);
  fabric::Expected<void> send(std::span<const char> bytes);
  fabric::Expected<void> receive(std::span<char> bytes);
  fabric::Expected<std::vector<char>> receive_record();
  [[nodiscard]] tl::unexpected<fabric::Error> lost(const std::string& what) const;

  base::FileDescriptor socket_;
  std::string name_;
  fabric::Time until_;
  std::uint32_t xid_ = 1;
};

}  // namespace rpcrdma::rpcbind
