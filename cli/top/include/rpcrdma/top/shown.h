// The contents of a live view at one moment, and its user's settings. Plain values: gathered from
// endpoints' events (gather.h), drawn as lines of text (draw.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/states/call_states.h>
#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::top {

// Seconds of history of each connection.
inline constexpr std::size_t kHistory = 120;

// Totals since the view began; of a source that counts, since the kernel is traced.
struct Totals {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;                    // RDMA_ERRORs that answered a Call
  std::array<std::uint64_t, 3> chunks{};       // by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // by model::ChunkList
};

// Per second, over the last full second.
struct Rates {
  double calls = 0;
  std::array<double, 3> chunk_bytes{};  // by model::ChunkList
};

// Latency of Calls answered in the last five to ten seconds; -1: none.
struct Latency {
  std::int64_t p50_ns = -1;
  std::int64_t p99_ns = -1;
};

// Credits for the Calls of the RPC client.
struct Credits {
  std::uint32_t requested = 0;
  std::uint32_t granted = 0;
  std::uint32_t in_use = 0;
  std::uint32_t waiting = 0;  // Calls that wait for a credit, as known to the endpoint
  std::uint32_t limit = 0;    // maximum of Calls in flight, if the endpoint is the client; else 0
};

// A procedure of a connection whose Calls the source counts.
struct ShownProcedure {
  std::string name;  // "NFS v3 READ"
  std::uint64_t calls = 0, errors = 0;
  double rate = 0;  // Calls per second
  Latency latency;  // of the last second in which it was called; -1 after ten seconds
  std::int64_t slowest_ns = 0;
};

// A connection without messages: its source only counts. All since the kernel is traced.
struct ShownCounts {
  trace::ConnectionSums sums;
  std::vector<ShownProcedure> procedures;  // the busiest first
};

struct ShownConnection {
  std::uint32_t id = 0;     // from 1
  std::string endpoint;     // that emits its events
  std::string local, peer;  // "10.0.0.1.17": address and QPN
  bool calls_here = false;  // the endpoint is the RPC client
  // "open", "closed", "rejected"; "gone": its endpoint ended without closing it; "no peer": the
  // endpoint at the other end did; "not sampled": open, and its endpoint traces only others.
  const char* state = "";
  bool open = false;
  bool in_sample = true;      // false: its messages are not traced, so nothing below is known
  std::uint32_t version = 0;  // of RPC-over-RDMA; 0: not seen in a message yet
  std::uint32_t inline_call = 0, inline_reply = 0;  // bytes
  Totals totals;
  Rates rates;
  Latency latency;
  Credits credits;
  // How long no message has come while Calls were in flight; 0: none is, or messages come.
  std::int64_t silent_ns = 0;
  std::uint64_t sent_again = 0, naks = 0, rnr_naks = 0;  // packets, if the fabric reports them
  std::vector<Credits> history;                          // maximum in each second, the oldest first
  std::optional<ShownCounts> counts;  // set: Calls are counted, not seen, and cannot be judged
  states::Counts outstanding;         // where its Calls are now
};

// Trouble on the network, as an RDMA device counts it, or a fabric in user space.
enum class NetworkKind : std::uint8_t {
  kOutOfSequence,  // packets received out of sequence; of a fabric: NAKs for them
  kRnr,            // no Receive was posted: RNR NAKs, sent or received
  kTimeout,        // an acknowledgment did not come in time
  kResent,         // packets that were sent again; a device does not count them
  kCnp,            // congestion notifications, sent or received
  kEcn,            // packets received with an ECN mark
};
inline constexpr std::size_t kNetworkKinds = 6;
[[nodiscard]] const char* network_label(NetworkKind kind);  // "timeouts"
[[nodiscard]] const char* network_key(NetworkKind kind);    // of JSON: "ack_timeouts"

// What one port of a device of this host, or the fabric of one endpoint, counts. Nothing: it does
// not count that, or no second has passed.
struct ShownNetwork {
  std::string name;    // "mlx5_0/1"; of a fabric, the endpoint's
  bool device = true;  // false: a fabric in user space
  std::array<std::optional<double>, kNetworkKinds> per_second{};
  std::array<std::optional<std::uint64_t>, kNetworkKinds> total{};  // since the view began
};

// A connection that two endpoints show: where the time of the Calls of the last second went.
struct ShownEnds {
  std::uint32_t id = 0;        // of the connection, as one of the endpoints shows it
  std::string client, server;  // addresses
  std::uint64_t calls = 0;     // joined
  std::uint64_t withheld = 0;  // the endpoints contradict each other about them
  // Shares of the time of all these Calls, 0 to 1; negative: not known. `data`: RDMA Reads and
  // Writes. `unknown`: in no known part.
  double at_client = -1, there = -1, at_server = -1, data = -1, back = -1, unknown = -1;
  std::int64_t p50_ns = -1;    // of a Call
  std::int64_t bound_ns = -1;  // the clocks' error is at most this; -1: not known
  // The side that most slow Calls are blamed on, and how many; then what these waited in.
  ends::Side side = ends::Side::kNone;
  std::uint64_t slow = 0;
  ends::Stage stage = ends::Stage::kSlot;
  std::string why;  // nothing is shown; empty: there is no reason
};

struct ShownEndpoint {
  std::string name;
  std::string role;  // in its own words
  bool ended = false;
  std::string why;            // why its stream ended, if the endpoint did not end it
  std::int64_t ended_ns = 0;  // since the epoch
  bool in_order = true;       // it closed its connections; if not, it was killed or crashed
  trace::EventSource source = trace::EventSource::kEndpoint;
  std::uint32_t process = 0;
  std::int64_t since_ns = 0;  // its start, since the epoch
};

// A finding; equal ones on one connection are merged.
struct ShownFinding {
  std::uint64_t number = 0;  // from 1, in the order in which they were first seen
  rules::Severity severity = rules::Severity::kNote;
  std::string rule;                 // empty: reported by the endpoint itself
  std::uint32_t connection = 0;     // its ID; 0: none
  std::string peer;                 // side at fault: "client 10.0.0.1"; empty: neither
  std::string local_end, peer_end;  // of the connection, as ShownConnection has them; empty: none
  std::uint64_t count = 0;
  std::int64_t last_ns = 0;  // since the epoch
  rules::Span span;          // for a lasting problem: the latest occurrence, like the text
  std::string text;
  std::string advice;
};

struct Shown {
  std::int64_t now_ns = 0;  // since the epoch
  bool measured = false;    // a second has passed, so rates are known
  std::vector<ShownEndpoint> endpoints;
  trace_reader::ReaderStats events;
  double events_rate = 0;  // per second
  Totals totals;
  Rates rates;
  Latency latency;
  std::uint64_t waiting = 0;                   // waiting Calls of all connections
  states::Counts outstanding;                  // where the Calls of all connections are now
  std::vector<ShownNetwork> network;           // the one with most trouble first
  std::vector<std::uint64_t> network_history;  // of all, in each second, the oldest first
  std::vector<ShownEnds> ends;                 // the busiest first
  std::uint64_t faults = 0;                    // packets affected by declared faults
  std::size_t connections = 0, open = 0;
  std::size_t first = 0;                 // index of the first row below among all connections
  std::vector<ShownConnection> rows;     // those that fit
  std::array<std::uint64_t, 3> found{};  // by rules::Severity
  std::vector<ShownFinding> findings;    // newest first
};

enum class Page : std::uint8_t { kConnections, kFindings, kHelp };
enum class Sort : std::uint8_t { kCalls, kLatency, kInUse, kWaiting, kId };
inline constexpr std::size_t kSorts = 5;

struct View {
  Page page = Page::kConnections;
  Sort sort = Sort::kCalls;
  bool paused = false;
  bool quit = false;
  std::uint32_t selected = 0;  // ID of a connection; 0: the first
  std::size_t first = 0;       // index of the first connection shown
  int move = 0;                // number of connections to move the selection by
  std::size_t finding = 0;     // index of the selected finding, from the newest
};

}  // namespace rpcrdma::top
