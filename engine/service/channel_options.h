// Channel options that clients and servers have in common.
#pragma once

#include <cstdint>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/version_options.h>
#include <rpcrdma/trace/connection_tracer.h>

namespace rpcrdma::service {

// Leaves the terms and Remote Invalidation to the caller. `trace`: of the connection.
[[nodiscard]] inline protocol::ChannelOptions channel_options(
    Loop& loop, const VersionOptions& version, std::uint32_t max_segment,
    const trace::ConnectionTracer& trace) {
  protocol::ChannelOptions channel;
  channel.versions = version.versions;
  channel.negotiation_timeout = version.negotiation_timeout;
  channel.max_segment = max_segment;
  // A peer's segment may be longer than the device's limit for one operation.
  if (const std::uint32_t most = loop.provider().limits().message; most != 0) {
    channel.max_transfer = most;
  }
  channel.receives_at_once = loop.provider().limits().receives_at_once;
  channel.tracer = trace.tracer;
  channel.connection = trace.connection;
  return channel;
}

}  // namespace rpcrdma::service
