// The clocks of several hosts: how far apart they are, found by ping-pongs, and a start time that
// all agree on. Times are nanoseconds of each host's CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load_ranks {

// By how much a rank's clock is ahead of the coordinator's; the true value is within `error` of it.
struct ClockOffset {
  fabric::Time offset = 0;
  fabric::Time error = 0;

  bool operator==(const ClockOffset&) const = default;
};

// One exchange: the coordinator sends and receives, the rank reads its clock in between.
struct PingPong {
  fabric::Time sent = 0;      // coordinator's clock
  fabric::Time remote = 0;    // rank's clock
  fabric::Time received = 0;  // coordinator's clock
};

// Keeps the exchange with the shortest round trip: the offset is known to half of it, however
// asymmetric the paths are.
class OffsetEstimate {
 public:
  void add(const PingPong& exchange);  // one that took negative time is ignored
  // Nothing without an exchange.
  [[nodiscard]] std::optional<ClockOffset> best() const;

 private:
  std::optional<PingPong> shortest_;
};

// The same moment by the rank's and by the coordinator's clock.
[[nodiscard]] fabric::Time to_rank(fabric::Time coordinator, const ClockOffset& offset);
[[nodiscard]] fabric::Time to_coordinator(fabric::Time rank, const ClockOffset& offset);

// A start time that every rank can meet: `now` and the longest time that its announcement takes,
// with a margin. Coordinator's clock.
[[nodiscard]] fabric::Time start_time(fabric::Time now, fabric::Time announcement);

}  // namespace rpcrdma::load_ranks
