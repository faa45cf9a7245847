// The Connection Configuration Protocol, program 100417, in both roles (RFC 5666 section 6.2).
#pragma once

#include <array>
#include <optional>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/profile.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::service {

// Answers CONF_RDMA by Call::configure(). It has no state, and serves any number of connections.
class RdmaConfigProgram : public Program {
 public:
  RdmaConfigProgram();
};

// The client's CONF_RDMA, which precedes all other Calls of a connection.
class RdmaConfigCall {
 public:
  // `threshold`: bytes that the client sends and receives inline.
  RdmaConfigCall(std::uint32_t threshold, const ConfigOptions& options);

  // Valid as long as this object.
  [[nodiscard]] protocol::CallSpec spec() const;
  // Returns nothing if the server does not know the protocol, or its answer is invalid.
  [[nodiscard]] static std::optional<wire::RdmaConfigReply> read(
      const protocol::CallOutcome& outcome);

 private:
  std::array<std::uint8_t, 12> arguments_;
  CallHeader header_;
  std::array<protocol::Piece, 2> pieces_;
};

// Applies request and answer to the terms of the client's and of the server's channel. `threshold`:
// of the side concerned, bytes. Every peer accepts 1,024 bytes inline (RFC 5666 section 6.2), so
// sizes below that count as 1,024.
void configure_client(const wire::RdmaConfigReply& reply, std::uint32_t threshold,
                      const ConfigOptions& options, protocol::Terms& terms);
void configure_server(const wire::RdmaConfigRequest& request, std::uint32_t threshold,
                      protocol::Terms& terms);
// The server's answer.
[[nodiscard]] wire::RdmaConfigReply answer(std::uint32_t threshold, const ConfigOptions& options);

}  // namespace rpcrdma::service
