// Aggregates the events of live endpoints into what a live view shows. Memory is bounded: at most
// roce::kMaxConnections connections are followed, and kinds of findings and endpoints are limited.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/top/cumulative.h>
#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

// What is followed besides counts and findings.
enum class Follow : std::uint8_t {
  kCounts,  // nothing
  kCalls,   // where each outstanding Call is, and both ends of Calls that two endpoints show
};

class Gather {
 public:
  // Maximum number of kinds of findings; beyond it, the one seen longest ago is dropped.
  static constexpr std::size_t kMostFindings = 256;
  // Maximum number of endpoints, including those that have ended.
  static constexpr std::size_t kMostEndpoints = 256;
  // How long a closed connection is shown.
  static constexpr std::int64_t kShownClosedNs = 30'000'000'000;

  explicit Gather(rules::Profile profile = rules::Profile::k8166, Follow follow = Follow::kCounts);
  ~Gather();
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  // Adds an endpoint and returns its number, from 0. `name`: shown until the endpoint sends its
  // own. `host`: shown with that, as "host:name"; empty: it is on this one.
  std::uint32_t add(const std::string& name, const std::string& host = {});
  // Processes a frame from an endpoint. Frame numbers are ignored.
  void frame(std::uint32_t endpoint, const capture::Frame& frame);
  // Called when an endpoint's stream has ended; `why` is empty if the endpoint ended it itself. Its
  // data stays. `wall_ns`: now, since the epoch.
  void ended(std::uint32_t endpoint, const std::string& why, std::int64_t wall_ns);

  // Advances the time: a monotonic clock, ns. Rates are measured between two ticks that are a
  // second apart; `at_once`: also if it is less.
  void tick(std::int64_t now_ns, bool at_once = false);

  // Counters of this host's RDMA devices, read at the time of the latest tick. Each second is
  // measured from those that came last before its end.
  void devices(const host::Devices& devices);

  // Returns at most `rows` connections, among them the selected one. Moves the view's selection as
  // the view requests. `wall_ns`: since the epoch.
  [[nodiscard]] Shown show(View& view, std::size_t rows, std::int64_t wall_ns) const;

  // Returns all endpoints, without what show() prepares for display.
  [[nodiscard]] Cumulative cumulative() const;
  // Occurrences of findings so far, by rules::Severity: cheap enough to look for new ones often.
  [[nodiscard]] const std::array<std::uint64_t, 3>& found() const;
  // As show() lists it. `endpoint`: as add() numbered it.
  [[nodiscard]] const ShownEndpoint& endpoint(std::uint32_t endpoint) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::top
