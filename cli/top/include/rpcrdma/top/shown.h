// What a live view shows at one moment, and what its user asked it to show. Plain values: gathered
// from endpoints' events (gather.h), drawn as lines of text (draw.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/model/message.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::top {

// Seconds that are remembered of each connection.
inline constexpr std::size_t kHistory = 120;

// Since the view began.
struct Totals {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;                    // RDMA_ERRORs that answered a Call
  std::array<std::uint64_t, 3> chunks{};       // by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // by model::ChunkList
};

// A second, in the last whole one.
struct Rates {
  double calls = 0;
  std::array<double, 3> chunk_bytes{};  // by model::ChunkList
};

// Of Calls that were answered in the last five to ten seconds; -1: none was.
struct Latency {
  std::int64_t p50_ns = -1;
  std::int64_t p99_ns = -1;
};

// Of the Calls that the RPC client makes.
struct Credits {
  std::uint32_t requested = 0;
  std::uint32_t granted = 0;
  std::uint32_t in_use = 0;
  std::uint32_t waiting = 0;  // Calls that wait for one, as far as the endpoint that tells knows
  std::uint32_t limit = 0;  // Calls that may be outstanding, where the endpoint makes them; else 0
};

struct ShownConnection {
  std::uint32_t id = 0;     // from 1
  std::string endpoint;     // that tells of it
  std::string local, peer;  // "10.0.0.1.17": address and QPN
  bool calls_here = false;  // the endpoint is the RPC client
  // "open", "closed", "rejected"; "gone": its endpoint ended without closing it; "no peer": the
  // endpoint at its other end did.
  const char* state = "";
  bool open = false;
  std::uint32_t version = 0;                        // of RPC-over-RDMA; 0: no message told it yet
  std::uint32_t inline_call = 0, inline_reply = 0;  // bytes
  Totals totals;
  Rates rates;
  Latency latency;
  Credits credits;
  std::uint64_t sent_again = 0, naks = 0, rnr_naks = 0;  // packets, where the fabric tells them
  std::vector<Credits> history;  // the most in each second, the oldest first
};

struct ShownEndpoint {
  std::string name;
  std::string role;  // as it tells
  bool ended = false;
  std::string why;            // it ended, where it was not its own end
  std::int64_t ended_ns = 0;  // since the epoch
  bool in_order = true;       // it closed its connections; else it was killed, or crashed
};

// What is wrong, joined where it is the same on one connection.
struct ShownFinding {
  rules::Severity severity = rules::Severity::kNote;
  std::string rule;              // empty: the endpoint itself tells of it
  std::uint32_t connection = 0;  // its ID; 0: of none
  std::string peer;              // at fault: "client 10.0.0.1"; empty: neither
  std::uint64_t count = 0;
  std::int64_t last_ns = 0;  // since the epoch
  rules::Span span;          // of what lasts: of the last time, as is the text
  std::string text;
  std::string advice;
};

struct Shown {
  std::int64_t now_ns = 0;  // since the epoch
  bool measured = false;    // a second has passed: there are rates
  std::vector<ShownEndpoint> endpoints;
  trace_reader::ReaderStats events;
  double events_rate = 0;  // a second
  Totals totals;
  Rates rates;
  Latency latency;
  std::uint64_t waiting = 0;  // Calls, of all connections
  std::uint64_t faults = 0;   // packets that declared faults were done to
  std::size_t connections = 0, open = 0;
  std::size_t first = 0;                 // of all, in their order: the first of those below
  std::vector<ShownConnection> rows;     // that fit
  std::array<std::uint64_t, 3> found{};  // by rules::Severity
  std::vector<ShownFinding> findings;    // the newest first
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
  std::size_t first = 0;       // of the connections, that is shown
  int move = 0;                // by so many connections is the selection yet to be moved
  std::size_t finding = 0;     // that is selected, from the newest
};

}  // namespace rpcrdma::top
