// What an agent publishes about its host once a second, as JSON. Counters and latency histograms
// are cumulative, so that a lost summary loses nothing: a viewer subtracts. Bytes from the bus are
// untrusted: what from_json() accepts is within the limits below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/histogram.h>

namespace rpcrdma::fleet {

// The schema version that this build writes and reads.
inline constexpr std::uint32_t kSchema = 1;

// Limits of a summary and of a finding. NATS delivers at most 1 MiB.
inline constexpr std::size_t kMostSummaryBytes = std::size_t{768} << 10;
inline constexpr std::size_t kMostFindingBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMostEndpoints = 256;
inline constexpr std::size_t kMostRecordings = 64;
inline constexpr std::size_t kMostName = 253;   // bytes of a host's or endpoint's name
inline constexpr std::size_t kMostText = 1024;  // bytes of any other text

enum class Source : std::uint8_t {
  kEndpoint,  // an endpoint of this project emits its events itself
  kKernel,    // Linux's own NFS/RDMA (docs/kernel.md)
};

enum class EndpointEnd : std::uint8_t {
  kNone,     // it runs
  kClosed,   // it closed its connections and ended
  kKilled,   // it ended without closing its connections
  kRefused,  // its stream was not what an endpoint sends, and the agent dropped it
};

// Sums over the open connections of an endpoint.
struct CreditSums {
  std::uint64_t requested = 0, granted = 0;
  std::uint64_t in_use = 0;   // Calls in flight
  std::uint64_t waiting = 0;  // Calls that wait for a credit
  friend bool operator==(const CreditSums&, const CreditSums&) = default;
};

// Cumulative, since the agent attached to the endpoint; of a kernel source that counts, since that
// source was attached to the kernel.
struct Counters {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;                    // RDMA_ERRORs that answered a Call
  std::array<std::uint64_t, 3> chunk_bytes{};  // of Read chunks, Write chunks, Reply chunks
  friend bool operator==(const Counters&, const Counters&) = default;
};

// A pcapng file that an endpoint or the agent is writing.
struct RecordingSummary {
  std::string file;
  std::uint64_t bytes = 0;  // written so far
  bool on_demand = false;   // requested by `rpcrdma fleet record`
};

struct EndpointSummary {
  std::string name;
  std::string role;  // in its own words: "server on 10.0.0.1"
  std::string user;  // that runs it
  std::uint32_t process = 0;
  Source source = Source::kEndpoint;
  std::int64_t since_ns = 0;  // its start, since the epoch
  // Counters are comparable within one instance of the agent and one generation: it differs when
  // the agent attached anew, to a restarted endpoint for example. Unique within the instance.
  std::uint64_t generation = 0;

  EndpointEnd end = EndpointEnd::kNone;  // an ended endpoint is reported for ten seconds more
  std::string why;                       // of kRefused

  std::uint64_t connections = 0;  // open
  CreditSums credits;
  Counters counters;
  // Latencies of all answered Calls, cumulative like the counters. A bucket holds 2^32 - 1 Calls,
  // so the agent starts an empty histogram before one is full and increases `latency_epoch`. See
  // latency_since().
  base::CompactHistogram latency;
  std::uint64_t latency_epoch = 0;

  std::uint64_t events = 0;       // trace events received from it
  std::uint64_t events_lost = 0;  // and those that did not reach the agent
  std::uint64_t faults = 0;       // packets affected by declared faults
  // Occurrences: errors, warnings, notes, as rules::Severity orders them.
  std::array<std::uint64_t, 3> findings{};
  std::vector<RecordingSummary> recordings;  // in progress
};

// What the agent itself lost or could not do, cumulative since it started.
struct AgentCounters {
  std::uint64_t reconnects = 0;
  std::uint64_t states_dropped = 0;    // summaries replaced while the bus was disconnected
  std::uint64_t findings_dropped = 0;  // findings beyond the bound of the buffer
  std::uint64_t endpoints_unread = 0;  // endpoints that run now and cannot be read
  friend bool operator==(const AgentCounters&, const AgentCounters&) = default;
};

struct Summary {
  std::string host;
  std::string boot;      // the kernel's boot ID
  std::string instance;  // random, unique for each start of an agent
  std::string version;   // of the agent
  std::uint32_t process = 0;
  std::uint64_t sequence = 0;     // from 1, increases by 1 with each summary of an instance
  std::int64_t wall_ns = 0;       // when it was made: CLOCK_REALTIME, since the epoch
  std::int64_t monotonic_ns = 0;  // the same moment: CLOCK_MONOTONIC of the host
  std::int64_t interval_ns = 0;   // since the previous summary, monotonic; 0: it is the first
  bool goodbye = false;           // the last summary: the agent stops
  AgentCounters agent;
  std::uint64_t endpoints_left_out = 0;  // beyond kMostEndpoints, or beyond kMostSummaryBytes
  std::vector<EndpointSummary> endpoints;
};

// A finding, as it is published when it is first seen and, while it repeats, with its new count.
struct FindingNote {
  std::string host;
  std::string instance;
  std::uint64_t sequence = 0;  // from 1, of the instance's findings
  std::int64_t wall_ns = 0;    // latest occurrence, since the epoch
  std::string endpoint;        // its name
  std::uint32_t process = 0;   // of the endpoint
  std::uint64_t generation = 0;
  std::uint64_t kind = 0;   // the same finding has the same number within an instance
  std::string severity;     // "note", "warning", "error"
  std::string rule;         // empty: reported by the endpoint itself
  std::string local, peer;  // ends of the connection; empty: of none
  std::string at_fault;     // "client 10.0.0.1"; empty: neither side
  std::uint64_t count = 0;  // occurrences since the agent attached, cumulative
  std::string text;
  std::string advice;
};

// Texts are cut to their limits, and invalid UTF-8 is replaced. Endpoints that do not fit are left
// out and counted.
[[nodiscard]] std::string to_json(const Summary& summary);
[[nodiscard]] std::string to_json(const FindingNote& note);

// Errors, one clause each: no JSON; another schema version, with both versions; a value that is
// missing, of another type or beyond its limit. Unknown members are ignored.
[[nodiscard]] base::Expected<Summary> summary_from_json(std::string_view text);
[[nodiscard]] base::Expected<FindingNote> finding_from_json(std::string_view text);
// Whether an error of the two above is another schema version.
[[nodiscard]] bool is_other_schema(const base::Error& error);

// Returns the latencies that were added between two summaries of the same endpoint: `now` itself if
// there is no `before` with the same instance, generation and epoch. The extremes of a difference
// are those of its buckets.
[[nodiscard]] base::Histogram latency_since(const EndpointSummary& now,
                                            const EndpointSummary* before);

}  // namespace rpcrdma::fleet
