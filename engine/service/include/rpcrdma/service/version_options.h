// What clients and servers are told of versions of RPC-over-RDMA.
#pragma once

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/service/connection_info.h>

namespace rpcrdma::service {

struct VersionOptions {
  // A client begins with the highest, and falls back to what the server speaks; a server answers
  // each Call in its own.
  protocol::Versions versions;
  // Inline thresholds of version 2 are 4096 bytes, as it has no message to agree on others; true:
  // what private data says where that is more, which is for peers that both do so (private data is
  // version 1's, and else has no effect here). Longer messages are sent to a peer that has shown by
  // one that it does so, or whose Call leaves no other way for its Reply.
  bool private_data_for_two = false;
  // In which a client's first message of version 2 must be answered, or version 1 is tried on
  // another connection.
  fabric::Time negotiation_timeout = 10 * fabric::kSecond;
};

// Error: kBadArgument.
[[nodiscard]] fabric::Expected<void> check(const VersionOptions& options);

// What private data means for a channel.
[[nodiscard]] protocol::Terms terms_of(const VersionOptions& options, const Thresholds& agreed);

}  // namespace rpcrdma::service
