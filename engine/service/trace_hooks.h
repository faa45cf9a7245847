// Trace hooks for the start and end of servers' and clients' connections (engine/trace). They emit
// events with and without a reader, so that later readers know the open connections.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::service {

// A number for a connection that is about to be set up; 0 without a tracer.
[[nodiscard]] std::uint32_t new_trace_connection(const Loop& loop);
// Whether a sample of the connections contains the one with this number (Tracer::in_sample()).
[[nodiscard]] bool in_trace_sample(const Loop& loop, std::uint32_t connection);
// What the parts of a connection trace with: without a tracer if it is not in the sample.
[[nodiscard]] trace::ConnectionTracer connection_tracer(const Loop& loop, std::uint32_t connection,
                                                        bool in_sample);

struct EstablishedConnection {
  bool active = false;
  std::uint16_t port = 0;              // the listener's
  wire::Bytes sent, received;          // private data
  const Thresholds& thresholds;        // as agreed on
  const fabric::Event& event;          // kEstablished
  const protocol::Versions& versions;  // that this side supports
  bool in_sample = true;
};
void trace_established(Loop& loop, std::uint32_t connection, const EstablishedConnection& what,
                       fabric::Time now);

struct EndedConnection {
  std::uint8_t side = trace::kHere;  // the side that ended it
  std::uint16_t reject_reason = 0;   // see fabric::Event
  std::string_view what;             // one clause for display
  bool failed = false;               // see fabric::Event
  wire::Bytes private_data = {};     // of a rejection; zeros may follow it
};
struct FailedConnection {
  bool active = false;
  std::uint16_t port = 0;  // the listener's
  fabric::Address peer;
};
// For a connection that was established, and for one that was not, which has no other event.
void trace_end(Loop& loop, std::uint32_t connection, const EndedConnection& end, fabric::Time now);
void trace_failed(Loop& loop, std::uint32_t connection, const EndedConnection& end,
                  const FailedConnection& what, fabric::Time now);

}  // namespace rpcrdma::service
