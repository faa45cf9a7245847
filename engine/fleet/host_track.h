// One host of a fleet over time: its agent's summaries, their order, and its endpoints.
#pragma once

#include "arrivals.h"
#include "endpoint_track.h"
#include "event_log.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {

// What all hosts of a view share.
struct Shared {
  BucketBudget buckets;
  std::size_t endpoints_left = 0;  // that may still be followed
  EventLog events{0};
};

class LatencySum;

class HostTrack {
 public:
  // `shared` outlives it.
  HostTrack(std::string name, Shared& shared) : name_(std::move(name)), shared_(&shared) {}
  ~HostTrack() { shared_->endpoints_left += endpoints_.size(); }
  HostTrack(const HostTrack&) = delete;
  HostTrack& operator=(const HostTrack&) = delete;

  void take(const Summary& s, const ViewTime& now, std::int64_t delayed_ns);
  // `silence_counts`: the bus has been connected for long enough that the host could have been
  // heard.
  void tick(const ViewTime& now, bool silence_counts);

  [[nodiscard]] HostState state(const ViewTime& now, bool connected) const;
  [[nodiscard]] HostPresence presence() const { return presence_; }
  // When its latest state was sent, on the viewer's monotonic clock.
  [[nodiscard]] std::int64_t sent_ns() const { return sent_.monotonic_ns; }
  // Latencies of the window, of all endpoints.
  void add_latencies(LatencySum& sum) const;
  [[nodiscard]] std::uint64_t lost() const;

 private:
  // An agent that has used the host's name.
  struct Agent {
    explicit Agent(std::optional<std::uint64_t> expected) : order(expected) {}
    std::string instance, boot;
    SequenceWindow order;
    Delay delay;  // of the monotonic clock of this boot
    bool heard = false;
    std::int64_t heard_ns = 0;        // on the viewer's monotonic clock
    unsigned came_back = 0;           // summaries after another agent had taken its place
    std::int64_t latest_made_ns = 0;  // monotonic_ns of its latest summary
  };

  // Returns the agent of a summary, which is new or known.
  Agent& agent_of(const Summary& s, const ViewTime& now);
  [[nodiscard]] bool is_current(const Agent& agent) const;
  // Whether another agent than the current one takes its place.
  [[nodiscard]] bool takes_over(Agent& agent, const ViewTime& now);
  void make_current(const Agent& agent, const ViewTime& now);
  void count_agents(const ViewTime& now);
  void hear(const ViewTime& now, const ViewTime& sent);
  void check_clock(const Summary& s, const ViewTime& sent);
  void take_endpoints(const Summary& s);
  void report_endpoints(const Summary& s, const ViewTime& now);
  [[nodiscard]] std::string problem() const;

  std::string name_;
  Shared* shared_;
  std::vector<std::unique_ptr<Agent>> agents_;        // the current one first
  std::uint64_t lost_before_ = 0;                     // of agents that are not remembered
  std::map<std::uint64_t, EndpointTrack> endpoints_;  // by generation

  HostPresence presence_ = HostPresence::kHere;
  ViewTime sent_;  // when the latest state was sent, on the viewer's clocks
  std::string version_;
  AgentCounters counters_;
  std::uint64_t left_out_ = 0;
  std::uint64_t received_ = 0, late_ = 0, repeated_ = 0, restarts_ = 0;
  std::uint64_t using_name_ = 1;  // agents
  std::int64_t clock_off_ns_ = 0;
  unsigned clock_off_seen_ = 0;  // consecutive summaries
};

}  // namespace rpcrdma::fleet
