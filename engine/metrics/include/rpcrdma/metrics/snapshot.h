// Counters of an endpoint at one moment: plain numbers, copied by its loop's thread on request, and
// reported later by other threads. Counters start at zero with the endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/protocol/durations.h>
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
  // Events that Linux's ring could not hold, for an endpoint that traces it; they are not among the
  // others.
  std::optional<std::uint64_t> lost_in_kernel = {};
};

// Sums that Linux's own client and server state (trace::ProcedureSums, trace::ConnectionSums), over
// all connections since the kernel is traced. Names are the owner's choice, like those below.
struct KernelProcedure {
  bool server = false;  // the kernel is the RPC server
  std::string program, procedure;
  std::uint64_t calls = 0, replies = 0, errors = 0;
  std::uint64_t call_bytes = 0, reply_bytes = 0;              // of Sends, headers included
  std::uint64_t read_chunk_bytes = 0, write_chunk_bytes = 0;  // the latter with Reply chunks
  protocol::RoundDurations latencies;
};
struct KernelRole {
  std::uint32_t connections = 0;                       // open
  std::uint64_t opened = 0, closed = 0;                // since the kernel is traced
  std::uint64_t granted = 0, in_use = 0, waiting = 0;  // of the open connections
  std::uint64_t requested = 0;                         // credits, the same
  std::uint64_t credit_waits = 0, credit_wait_ns = 0;
  std::uint64_t send_queue_full = 0, resent_calls = 0, flushed = 0, invalid_headers = 0;
};
struct KernelFigures {
  std::vector<KernelProcedure> procedures;
  KernelRole client, server;
};

// Counters that only the owner of an endpoint has, under names of its choice: they become labels,
// so there must be few, and none may come from a peer.
struct ProcedureCalls {
  std::string program, procedure;
  std::uint64_t calls = 0;
  protocol::Durations durations = {};  // of those with a Reply
};
// Label `class` of rpcrdma_errors_total.
enum class ErrorClass : std::uint8_t {
  kRdmaError,  // an RDMA_ERROR
  kRpcError,   // a Reply with an error of RPC (RFC 5531 section 9)
  kViolation,  // the peer violated the protocol
  kFailure,    // the Call failed for another reason
};
struct ClientErrors {
  ErrorClass what = ErrorClass::kFailure;
  std::string kind;  // as in RFC 5531: "PROG_UNAVAIL"; or a word of the owner's
  std::uint64_t calls = 0;
};

// Of the process, as the kernel states them; nothing: it does not.
struct ProcessFigures {
  std::optional<double> started;  // seconds since the epoch
  std::optional<double> cpu_seconds;
  std::optional<std::uint64_t> resident_bytes, virtual_bytes;
  std::optional<std::uint64_t> open_files, most_files;
  std::optional<std::uint64_t> threads;
};

struct Snapshot {
  fabric::Time taken = 0;  // CLOCK_MONOTONIC
  std::optional<ServerFigures> server;
  std::optional<ClientFigures> client;
  std::vector<ProcedureCalls> procedures;
  std::vector<ClientErrors> client_errors;        // of Calls that had a Reply
  std::optional<soft::ProviderCounters> packets;  // of a provider with its own packets
  MemoryFigures memory;
  std::optional<KernelFigures> kernel;  // then the process has no loop, and no memory of it
  std::optional<TraceFigures> trace;
};

}  // namespace rpcrdma::metrics
