// Watches a fleet over its bus: summaries and findings as they come.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <poll.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/summary.h>
#include <rpcrdma/fleet/view.h>
#include <rpcrdma/top/fleet_shown.h>

namespace rpcrdma::cli {

// The findings that a fleet has published, each with its latest count. Bounded.
class FleetFindings {
 public:
  static constexpr std::size_t kMost = 1000;

  // Takes a message of the subject rpcrdma.findings.HOST.
  void take(const fleet::BusMessage& message);

  [[nodiscard]] std::vector<top::FleetFinding> newest_first() const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  using Kind = std::tuple<std::string, std::string, std::uint64_t>;  // host, instance, kind

  std::map<Kind, top::FleetFinding> all_;
  std::uint64_t dropped_ = 0, refused_ = 0;
};

// Returns the finding of a message; nothing if it is none, or about another host than its subject.
[[nodiscard]] base::Expected<fleet::FindingNote> finding_of(const fleet::BusMessage& message);

[[nodiscard]] top::FleetFinding shown_finding(const fleet::FindingNote& note);

class FleetWatch {
 public:
  // `findings`: those of the last minutes too, from the stream. Error: see fleet::Bus::connect().
  [[nodiscard]] static base::Expected<std::unique_ptr<FleetWatch>> start(
      const fleet::BusOptions& options, bool findings);

  // Descriptors that become readable when there is something to take.
  void add_descriptors(std::vector<pollfd>& fds) const;
  // Takes what has come, without waiting, and advances the time.
  void take();
  [[nodiscard]] top::FleetShown shown() const;

 private:
  explicit FleetWatch(std::unique_ptr<fleet::Bus> bus, std::string server)
      : bus_(std::move(bus)), server_(std::move(server)) {}
  [[nodiscard]] base::Expected<void> subscribe(bool findings);
  // What the streams hold.
  void replay(bool findings);

  std::unique_ptr<fleet::Bus> bus_;  // outlives its subscriptions
  std::string server_;
  std::unique_ptr<fleet::Subscription> states_, finding_notes_;
  fleet::View view_;
  FleetFindings findings_;
};

}  // namespace rpcrdma::cli
