// The state of a fleet as a viewer knows it, built from the summaries of the agents (summary.h).
// Pure: the caller passes the time. Memory is bounded by ViewLimits, whatever the bus delivers.
//
// What it promises:
// - A sum includes only state that is at most kFreshNs old. Older state is kept with its age and
//   `fresh` is false; while the bus is disconnected, that is everything.
// - Rates and latencies are differences of cumulative counters, over the time between the two
//   summaries as the host measured it. A lost, late or repeated summary does not distort them, and
//   a restart never makes them negative: they are unknown until there are two summaries.
// - Whatever is lost, refused or contradictory is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::fleet {

struct Summary;  // summary.h

// State is fresh for this long after its host sent it.
inline constexpr std::int64_t kFreshNs = 3'000'000'000;
// Latencies are those of Calls answered in about this time.
inline constexpr std::int64_t kLatencyWindowNs = 10'000'000'000;
// A host's clock that differs by more than this from the viewer's is reported.
inline constexpr std::int64_t kClockOffNs = 1'000'000'000;

struct ViewLimits {
  std::size_t hosts = 4096;
  std::size_t endpoints = 32'768;  // of all hosts
  std::size_t events = 256;        // the latest are kept
  // How long a host that said goodbye is kept.
  std::int64_t kept_left_ns = 600'000'000'000;
};

// The time at which something reached the viewer, on both of its clocks.
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

// Of Calls answered in the last kLatencyWindowNs; -1: none was.
struct ViewLatency {
  std::uint64_t calls = 0;
  std::int64_t p50_ns = -1, p99_ns = -1, p999_ns = -1, max_ns = -1;
};

struct ViewCredits {
  std::uint64_t granted = 0, in_use = 0, waiting = 0;
};

struct ViewFindings {
  std::uint64_t errors = 0, warnings = 0, notes = 0;
};

struct EndpointState {
  std::string name;
  std::string role;               // in its own words
  bool ended = false;             // it ended; its last state is shown
  std::uint64_t connections = 0;  // open
  ViewCredits credits;
  std::optional<ViewRates> rates;  // nothing: unknown
  ViewLatency latency;
  ViewFindings findings;          // since the agent knows the endpoint
  std::uint64_t events_lost = 0;  // trace events that the agent did not get
  std::uint64_t restarts = 0;     // seen by this view
};

enum class HostPresence : std::uint8_t {
  kHere,    // reports, or did so less than kFreshNs ago
  kSilent,  // has not reported for kFreshNs, without goodbye
  kLeft,    // its agent said goodbye
};

struct HostState {
  std::string name;
  HostPresence presence = HostPresence::kHere;
  bool fresh = false;              // false: greyed, not in any sum
  std::int64_t age_ns = 0;         // since its latest state was sent
  std::int64_t heard_wall_ns = 0;  // when its latest summary came, on the viewer's clock
  std::string version;             // of its agent
  std::string problem;             // says one clause, such as "2 agents have this name"; or empty
  std::uint64_t received = 0;      // summaries
  std::uint64_t lost = 0;          // summaries that never came
  std::uint64_t late = 0;          // summaries that came after newer ones
  std::uint64_t repeated = 0;      // summaries that came twice
  std::uint64_t restarts = 0;      // of the agent
  std::uint64_t agents = 1;        // that use this name now
  std::int64_t clock_off_ns = 0;   // host's wall clock minus the viewer's
  bool clock_off = false;          // by more than kClockOffNs
  std::uint64_t recordings = 0;    // in progress
  // Sums of the host's endpoints, whether or not the host is fresh.
  std::uint64_t connections = 0;
  ViewCredits credits;
  std::optional<ViewRates> rates;
  ViewLatency latency;
  ViewFindings findings;
  std::vector<EndpointState> endpoints;  // by name
};

// Something that happened to the fleet, for a log.
struct ViewEvent {
  enum class Kind : std::uint8_t { kGood, kNote, kBad };
  Kind kind = Kind::kNote;
  std::int64_t wall_ns = 0;  // on the viewer's clock
  std::string host;          // empty: the bus
  std::string text;          // "vanished: no summary since 12:00:01"
};

// Sums of what is fresh, and of nothing else.
struct FleetTotals {
  std::uint64_t hosts = 0;      // fresh ones
  std::uint64_t old_hosts = 0;  // silent ones, and all while the bus is disconnected
  std::uint64_t left_hosts = 0;
  std::uint64_t endpoints = 0;
  std::uint64_t connections = 0;
  ViewCredits credits;
  ViewRates rates;           // of endpoints whose rates are known
  bool rates_known = false;  // of at least one endpoint
  ViewLatency latency;
  ViewFindings findings;
  std::uint64_t lost = 0;  // summaries of all hosts, fresh or not
};

// What the view did not accept.
struct ViewRefusals {
  std::uint64_t malformed = 0;      // messages that are not summaries
  std::uint64_t other_version = 0;  // summaries of an unknown schema version
  std::uint64_t wrong_host = 0;     // summaries that name another host than their subject
  std::uint64_t hosts = 0;          // summaries of hosts beyond the limit
  std::uint64_t endpoints = 0;      // endpoints beyond the limit, in the latest summaries
  std::string latest;               // why the latest was refused: one line
};

struct FleetState {
  bool connected = false;
  std::string bus;  // why it is not connected; else empty
  std::int64_t wall_ns = 0;
  FleetTotals totals;
  ViewRefusals refused;
  std::vector<HostState> hosts;      // by name
  std::vector<ViewEvent> events;     // the latest first
  std::uint64_t events_dropped = 0;  // beyond the limit
};

class View {
 public:
  explicit View(const ViewLimits& limits = {});
  ~View();
  View(View&&) noexcept;
  View& operator=(View&&) noexcept;

  // Takes a message of the subject rpcrdma.state.HOST: decodes and applies it, or counts why not.
  void take(std::string_view subject, std::string_view bytes, const ViewTime& now);
  // `delayed_ns`: how long the bus kept the summary before it delivered it, if it says so.
  void apply(const Summary& summary, const ViewTime& now, std::int64_t delayed_ns = 0);
  // The agent of a host said that it stops.
  void apply_bye(std::string_view host, const ViewTime& now);
  // `why`: of a disconnected bus, in one clause.
  void bus(bool connected, std::string_view why, const ViewTime& now);
  // Advances the time; emits the events that time causes, such as of a host that has vanished.
  void tick(const ViewTime& now);

  // The state at the time of the latest call above.
  [[nodiscard]] FleetState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::fleet
