// What an endpoint has counted at one moment: plain numbers, copied by its loop's thread when
// somebody asks, and told by others at their leisure. Counters count from the endpoint's beginning.
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
  std::uint32_t most_credits = 0;  // of each connection, however few there are
};

struct ClientFigures {
  service::ClientCounters counters;
  std::uint32_t connections = 0;     // that are up
  std::uint32_t outstanding = 0;     // Calls sent and not ended
  std::uint32_t waiting = 0;         // Calls, for a credit or a connection
  std::uint32_t granted = 0;         // credits, to all that are up, by their latest Replies
  std::uint32_t credits_in_use = 0;  // of these
  std::uint32_t most_credits = 0;    // that it asks for on each connection
};

struct MemoryFigures {  // bytes
  std::uint64_t registered = 0, in_use = 0, limit = 0;
};

// Of a trace, since it began (rpcrdma/live/hub.h).
struct TraceFigures {
  std::uint64_t emitted = 0;            // events; while nobody listens, few are
  std::uint64_t lost_in_rings = 0;      // of these: to all who listen
  std::uint64_t lost_by_recording = 0;  // of what the rings gave out
  std::uint64_t lost_by_readers = 0;    // the same, of each reader of the live socket
};

// What only the owner of an endpoint can count, by names that it chose: they become labels, so
// there are few of them, and none comes from a peer.
struct ProcedureCalls {
  std::string program, procedure;
  std::uint64_t calls = 0;
};
struct ClientErrors {
  std::string kind;  // as RFC 5531 writes it: "PROG_UNAVAIL"; or a word of the owner's
  std::uint64_t calls = 0;
};

struct Snapshot {
  fabric::Time taken = 0;  // CLOCK_MONOTONIC
  std::optional<ServerFigures> server;
  std::optional<ClientFigures> client;
  std::vector<ProcedureCalls> procedures;
  std::vector<ClientErrors> client_errors;        // of Calls that had a Reply
  std::optional<soft::ProviderCounters> packets;  // of a provider that has packets of its own
  MemoryFigures memory;
  std::optional<TraceFigures> trace;
};

}  // namespace rpcrdma::metrics
