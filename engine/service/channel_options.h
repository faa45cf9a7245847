// What the channels of clients and of servers have in common.
#pragma once

#include <cstdint>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

// Without terms, and with nothing of invalidation. `trace`: the connection's number there.
[[nodiscard]] inline protocol::ChannelOptions channel_options(Loop& loop,
                                                              const VersionOptions& version,
                                                              std::uint32_t max_segment,
                                                              std::uint32_t trace) {
  protocol::ChannelOptions channel;
  channel.versions = version.versions;
  channel.negotiation_timeout = version.negotiation_timeout;
  channel.max_segment = max_segment;
  // A peer's segment may be longer than what the device moves at once.
  if (const std::uint32_t most = loop.provider().limits().message; most != 0) {
    channel.max_transfer = most;
  }
  channel.tracer = loop.tracer();
  channel.connection = trace;
  return channel;
}

}  // namespace rpcrdma::service
