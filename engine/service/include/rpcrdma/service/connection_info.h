// What two peers agreed on when they connected.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/wire/private_data.h>
#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::service {

// Inline thresholds of a connection, bytes (RFC 8166 section 3.3.2, RFC 8797 section 4.2): the
// smaller of what one side sends and the other receives; 1024 both ways unless both sides sent
// private data that makes sense.
struct Thresholds {
  std::uint32_t send = 1024;
  std::uint32_t receive = 1024;
  std::optional<wire::PrivateData> peer;  // as the peer sent it
  bool peer_sent_other = false;           // private data of another format, or version of it
  bool remote_invalidation = false;       // both set the flag R

  friend bool operator==(const Thresholds& a, const Thresholds& b) {
    return a.send == b.send && a.receive == b.receive && a.peer.has_value() == b.peer.has_value();
  }
};

// `own`: bytes that this side sends and receives at most. `sent`: it sent private data itself, with
// the flag R if it does `remote_invalidation`.
[[nodiscard]] Thresholds agree(std::uint32_t own, bool sent, bool remote_invalidation,
                               wire::Bytes peer_private_data);

struct ConnectionInfo {
  std::uint32_t number = 0;  // server: counted from 1; client: its connections from 0
  fabric::Address peer;
  Thresholds thresholds;
  fabric::Time since = 0;  // established, of the loop's clock
  // What the server said in the Connection Configuration Protocol (RFC 5666 section 6.2).
  std::optional<wire::RdmaConfigReply> configured;
  // Clients: the connection was given up, since the server's ERR_VERS said that it speaks these
  // versions of RPC-over-RDMA, and none of ours.
  std::optional<protocol::Versions> refused;
};

}  // namespace rpcrdma::service
