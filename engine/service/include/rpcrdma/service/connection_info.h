// Parameters that two peers agreed on when they connected.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/wire/private_data.h>
#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::service {

// Inline thresholds of a connection in bytes (RFC 8166 section 3.3.2, RFC 8797 section 4.2): the
// smaller of one side's send size and the other's receive size; 1024 in both directions unless both
// sides sent valid private data.
struct Thresholds {
  std::uint32_t send = 1024;
  std::uint32_t receive = 1024;
  std::optional<wire::PrivateData> peer;  // as the peer sent it
  bool peer_sent_other = false;      // private data of another format, or another version of it
  bool remote_invalidation = false;  // both set the flag R

  friend bool operator==(const Thresholds& a, const Thresholds& b) {
    return a.send == b.send && a.receive == b.receive && a.peer.has_value() == b.peer.has_value();
  }
};

// `own`: maximum bytes that this side sends and receives. `sent`: this side sent private data, with
// the flag R if `remote_invalidation`.
[[nodiscard]] Thresholds agree(std::uint32_t own, bool sent, bool remote_invalidation,
                               wire::Bytes peer_private_data);

struct ConnectionInfo {
  std::uint32_t number = 0;  // server: counted from 1; client: its connections from 0
  fabric::Address peer;
  Thresholds thresholds;
  fabric::Time since = 0;  // time of establishment, by the loop's clock
  // The server's answer in the Connection Configuration Protocol (RFC 5666 section 6.2).
  std::optional<wire::RdmaConfigReply> configured;
  // Clients: the connection was closed for good, since the server's ERR_VERS listed these versions
  // of RPC-over-RDMA, and none of ours.
  std::optional<protocol::Versions> refused;
};

}  // namespace rpcrdma::service
