// Options of clients and servers for versions of RPC-over-RDMA.
#pragma once

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/service/connection_info.h>

namespace rpcrdma::service {

struct VersionOptions {
  // A client starts with the highest, and falls back to a version that the server supports; a
  // server answers each Call in its own version.
  protocol::Versions versions;
  // False: inline thresholds of version 2 are 4096 bytes, as it has no message to agree on others.
  // True: those of private data if they are larger, for use if both peers do so (private data
  // belongs to version 1, and has no other effect here). Longer messages are sent to a peer that
  // has itself sent one, or whose Call leaves no alternative for its Reply.
  bool private_data_for_two = false;
  // Time in which a client's first message of version 2 must be answered; then version 1 is tried
  // on another connection.
  fabric::Time negotiation_timeout = 10 * fabric::kSecond;
};

// Error: kBadArgument.
[[nodiscard]] fabric::Expected<void> check(const VersionOptions& options);

// The terms that private data implies for a channel.
[[nodiscard]] protocol::Terms terms_of(const VersionOptions& options, const Thresholds& agreed);

}  // namespace rpcrdma::service
