// Counters of an endpoint at one moment: plain numbers, copied by its loop's thread on request, and
// reported later by other threads. Counters start at zero with the endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::metrics {

struct ServerFigures {
  service::ServerCounters counters;
  std::uint32_t connections = 0;
  std::uint32_t outstanding = 0;   // Calls received and not answered
  std::uint32_t granted = 0;       // credits of each connection
  std::uint32_t most_credits = 0;  // maximum of each connection, with few connections
};

struct ClientFigures {
  service::ClientCounters counters;
  std::uint32_t connections = 0;     // established
  std::uint32_t outstanding = 0;     // Calls sent and not ended
  std::uint32_t waiting = 0;         // Calls that wait for a credit or a connection
  std::uint32_t granted = 0;         // sum of the credits of established connections, by their
                                     // latest Replies
  std::uint32_t credits_in_use = 0;  // of the granted credits
  std::uint32_t most_credits = 0;    // credits requested on each connection
};

struct MemoryFigures {  // bytes
  std::uint64_t registered = 0, in_use = 0, limit = 0;
};

// Since the trace started (rpcrdma/live/hub.h).
struct TraceFigures {
  std::uint64_t emitted = 0;            // events; few without a reader
  std::uint64_t lost_in_rings = 0;      // of these: lost to all readers
  std::uint64_t lost_by_recording = 0;  // of the events that left the rings
  std::uint64_t lost_by_readers = 0;    // the same, summed over the readers of the live socket
};

// Counters that only the owner of an endpoint has, under names of its choice: they become labels,
// so there must be few, and none may come from a peer.
struct ProcedureCalls {
  std::string program, procedure;
  std::uint64_t calls = 0;
};
struct ClientErrors {
  std::string kind;  // as in RFC 5531: "PROG_UNAVAIL"; or a word of the owner's
  std::uint64_t calls = 0;
};

struct Snapshot {
  fabric::Time taken = 0;  // CLOCK_MONOTONIC
  std::optional<ServerFigures> server;
  std::optional<ClientFigures> client;
  std::vector<ProcedureCalls> procedures;
  std::vector<ClientErrors> client_errors;        // of Calls that had a Reply
  std::optional<soft::ProviderCounters> packets;  // of a provider with its own packets
  MemoryFigures memory;
  std::optional<TraceFigures> trace;
};

}  // namespace rpcrdma::metrics
