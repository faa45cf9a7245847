// From the events of live endpoints to what a live view shows. What is kept is bounded: by
// connections, of which no more than roce::kMaxConnections are followed, by kinds of findings, and
// by endpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

class Gather {
 public:
  // Kinds of findings that are kept; of more, the one that was seen longest ago is dropped.
  static constexpr std::size_t kMostFindings = 256;
  // Endpoints in all, also such as have ended.
  static constexpr std::size_t kMostEndpoints = 256;
  // A connection that is over is shown for so long.
  static constexpr std::int64_t kShownClosedNs = 30'000'000'000;

  explicit Gather(rules::Profile profile = rules::Profile::k8166);
  ~Gather();
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  // Another endpoint, whose events will come; its number, from 0. `name`: until it tells its own.
  std::uint32_t add(const std::string& name);
  // What comes from an endpoint. The numbers of frames are not looked at.
  void frame(std::uint32_t endpoint, const capture::Frame& frame);
  // Nothing more comes from it; `why` is empty when it ended the stream itself. What it told stays.
  // `wall_ns`: now, since the epoch.
  void ended(std::uint32_t endpoint, const std::string& why, std::int64_t wall_ns);

  // Time passes: a monotonic clock, ns. Rates are of the time between two ticks that are a second
  // apart; `at_once`: also when it is less.
  void tick(std::int64_t now_ns, bool at_once = false);

  // At most `rows` connections, among them the one that the view selects. The view's selection is
  // moved as it asks for. `wall_ns`: since the epoch.
  [[nodiscard]] Shown show(View& view, std::size_t rows, std::int64_t wall_ns) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::top
