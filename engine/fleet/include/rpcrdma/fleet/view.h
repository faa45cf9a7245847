// The state of a fleet as a viewer knows it, built from the summaries of the agents (summary.h).
// Pure: the caller passes the time. Memory is bounded by ViewLimits, whatever the bus delivers.
//
// What it promises:
// - A sum includes only state that is at most kFreshNs old. Older state is kept with its age and
//   `fresh` is false; while the bus is disconnected, that is everything.
// - Rates and latencies are differences of cumulative counters, over the time between two summaries
//   as the host measured it. A lost, late or repeated summary does not distort them, and a restart
//   never makes them negative: they are unknown until there are two summaries.
// - Whatever is lost, refused or contradictory is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {

// State is fresh for this long after its host sent it.
inline constexpr std::int64_t kFreshNs = 3'000'000'000;
// Latencies are those of Calls answered in about this time.
inline constexpr std::int64_t kLatencyWindowNs = 10'000'000'000;
// A host's clock that differs by more than this from the viewer's is reported.
inline constexpr std::int64_t kClockOffNs = 1'000'000'000;

struct ViewLimits {
  std::size_t hosts = 4096;        // when it is reached, hosts that are gone make room for new ones
  std::size_t endpoints = 32'768;  // of all hosts
  std::size_t buckets = 16'000'000;             // of all histograms, 8 bytes each
  std::size_t events = 256;                     // the latest are kept
  std::int64_t kept_left_ns = 600'000'000'000;  // how long a host is kept after its goodbye
};

// A moment on both clocks of the viewer.
struct ViewTime {
  std::int64_t monotonic_ns = 0;
  std::int64_t wall_ns = 0;  // since the epoch
};

// Per second, between the two latest summaries.
struct ViewRates {
  double calls = 0;
  double errors = 0;
  double read_bytes = 0;   // of Read chunks
  double write_bytes = 0;  // of Write chunks
  double reply_bytes = 0;  // of Reply chunks
};

// Latency of Calls answered in the last kLatencyWindowNs; -1: none was, or it is not known yet.
struct ViewLatency {
  std::uint64_t calls = 0;
  std::int64_t p50_ns = -1, p99_ns = -1, p999_ns = -1, max_ns = -1;
};

// Since the agent attached to the endpoints.
struct ViewFindings {
  std::uint64_t errors = 0, warnings = 0, notes = 0;
};

struct EndpointState {
  std::string name;
  std::string role;  // in its own words
  std::string user;  // that runs it
  std::uint32_t process = 0;
  Source source = Source::kEndpoint;
  std::int64_t since_ns = 0;             // its start, since the epoch, on the host's clock
  EndpointEnd end = EndpointEnd::kNone;  // not kNone: its last state is shown
  std::string why;                       // of kRefused
  std::uint64_t connections = 0;         // open
  CreditSums credits;
  Counters counters;               // cumulative, as the agent sent them
  std::optional<ViewRates> rates;  // nothing: unknown
  ViewLatency latency;
  ViewFindings findings;
  std::uint64_t events_lost = 0;             // trace events that did not reach the agent
  std::vector<RecordingSummary> recordings;  // in progress
};

enum class HostPresence : std::uint8_t {
  kHere,    // it reports; while the bus is disconnected: it did before
  kSilent,  // it has not reported for kFreshNs, without goodbye
  kLeft,    // its agent said goodbye
};

struct HostState {
  std::string name;
  HostPresence presence = HostPresence::kHere;
  bool fresh = false;                    // false: greyed, in no sum
  std::int64_t age_ns = 0;               // since its latest state was sent
  std::int64_t heard_wall_ns = 0;        // when that was, on the viewer's clock
  std::string version;                   // of its agent
  std::string problem;                   // "2 agents use this name; clock 12 s ahead"; empty: none
  std::uint64_t received = 0;            // summaries that arrived, without repeated ones
  std::uint64_t lost = 0;                // summaries that never came
  std::uint64_t late = 0;                // summaries that came after newer ones
  std::uint64_t repeated = 0;            // summaries that came again
  std::uint64_t restarts = 0;            // of the agent
  std::uint64_t agents = 1;              // that use this name now
  std::int64_t clock_off_ns = 0;         // the host's wall clock minus the viewer's
  bool clock_off = false;                // by more than kClockOffNs, in several summaries
  AgentCounters agent;                   // what the agent itself lost
  std::uint64_t endpoints_left_out = 0;  // by the agent, and by the limits of this view
  // Sums over its endpoints that run, whether or not the host is fresh. Rates and latencies include
  // endpoints that have just ended.
  std::uint64_t running = 0;  // endpoints
  std::uint64_t connections = 0;
  std::uint64_t recordings = 0;  // in progress
  CreditSums credits;
  std::optional<ViewRates> rates;
  ViewLatency latency;
  ViewFindings findings;
  std::vector<EndpointState> endpoints;  // by name, then process
};

// Something that happened to the fleet, for a log.
struct ViewEvent {
  enum class Kind : std::uint8_t { kGood, kNote, kBad };
  Kind kind = Kind::kNote;
  std::int64_t wall_ns = 0;  // latest occurrence, on the viewer's clock
  std::string host;          // empty: the bus
  std::string text;          // "vanished: no summary for 3 s"
  std::uint64_t count = 1;   // occurrences
};

// Sums of what is fresh, and of nothing else.
struct FleetTotals {
  std::uint64_t hosts = 0;      // fresh ones
  std::uint64_t old_hosts = 0;  // those that are neither fresh nor left
  std::uint64_t left_hosts = 0;
  std::uint64_t endpoints = 0;  // running
  std::uint64_t connections = 0;
  std::uint64_t recordings = 0;
  CreditSums credits;
  std::optional<ViewRates> rates;  // of endpoints whose rates are known; nothing: of none
  ViewLatency latency;
  ViewFindings findings;
  // Sums over all hosts, fresh or not, and of those that this view has forgotten.
  std::uint64_t received = 0, lost = 0, late = 0, repeated = 0;
};

// What the view did not accept.
struct ViewRefusals {
  std::uint64_t malformed = 0;     // messages that are not summaries
  std::uint64_t other_schema = 0;  // summaries of another schema version
  std::uint64_t wrong_host = 0;    // summaries that name another host than their subject
  std::uint64_t hosts = 0;         // summaries of hosts beyond the limit
  std::uint64_t histograms = 0;    // histograms beyond the limit
  std::uint64_t undelivered = 0;   // messages that the subscription dropped: see dropped()
  std::string latest;              // why the latest was refused: one line
};

struct FleetState {
  bool connected = false;
  std::string bus;           // why it is not connected; else empty
  std::int64_t wall_ns = 0;  // the time of this state
  FleetTotals totals;
  ViewRefusals refused;
  std::vector<HostState> hosts;   // by name
  std::uint64_t forgotten = 0;    // hosts that left long ago, or made room
  std::vector<ViewEvent> events;  // the latest first
  std::uint64_t events_dropped = 0;
};

class View {
 public:
  explicit View(const ViewLimits& limits = {});
  ~View();
  View(View&&) noexcept;
  View& operator=(View&&) noexcept;

  // Takes a message of the subject rpcrdma.state.HOST: applies it, or counts why not. `delayed_ns`:
  // how long ago the stream stored it; 0: it is live.
  void take(std::string_view subject, std::string_view bytes, const ViewTime& now,
            std::int64_t delayed_ns = 0);
  void apply(const Summary& summary, const ViewTime& now, std::int64_t delayed_ns = 0);
  // `why`: of a disconnected bus, in one clause. A new view is disconnected.
  void bus(bool connected, std::string_view why, const ViewTime& now);
  // `total`: messages that the subscription has dropped so far.
  void dropped(std::uint64_t total);
  // Advances the time; emits the events that time causes, such as of a host that has vanished. Call
  // it before state(), and several times a second.
  void tick(const ViewTime& now);

  // The state at the time of the latest call above.
  [[nodiscard]] FleetState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::fleet
