// Which findings an agent publishes, and when: a new one at once, and while it repeats, its new
// count every ten seconds.
#pragma once

#include "endpoints.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::agent {

class Findings {
 public:
  // Receives notes with all members but host and instance.
  using Publish = std::function<void(fleet::FindingNote&&)>;
  explicit Findings(Publish publish) : publish_(std::move(publish)) {}

  // Publishes what is due of an endpoint. `last`: all counts that have changed.
  void look(const Followed& endpoint, std::int64_t now_ns, bool last = false);
  // Forgets endpoints that are not followed any more.
  void keep_only(const Endpoints& endpoints);
  // Notes that were not published since there were too many at once.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Published {
    std::uint64_t count = 0;
    std::int64_t at_ns = 0;
  };
  struct OfEndpoint {
    std::array<std::uint64_t, 3> found{};  // when they were last looked at
    bool waiting = false;                  // counts have changed since they were published
    std::int64_t look_at_ns = 0;
    std::map<std::uint64_t, Published> kinds;  // by top::ShownFinding::number
  };
  [[nodiscard]] bool may_publish(std::int64_t now_ns);

  Publish publish_;
  std::map<std::uint64_t, OfEndpoint> endpoints_;  // by generation
  std::uint64_t sequence_ = 0;
  std::int64_t second_began_ = 0;
  unsigned in_second_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace rpcrdma::agent
