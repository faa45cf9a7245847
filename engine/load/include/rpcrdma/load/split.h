// Splits the time from a Call's sending to its Reply into parts, as measured by both ends.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::load {

// The server's times of a Call, in nanoseconds of its own clock, unverified.
struct ServerTimes {
  std::uint64_t reading = 0;  // from the arrival of its Send until its Read chunks were complete
  std::uint64_t working = 0;  // from then until the Reply was complete
};

// Nanoseconds. The sum is the time from `sent` to `replied`.
struct Split {
  // Posted until the Send was known to have arrived; nothing if the Reply was the first sign of it,
  // and then this time is in the rest.
  std::optional<fabric::Time> sending;
  std::optional<fabric::Time> reading, working;  // of the server; nothing if it does not report it
  // The network, the server's RDMA Writes, and time in which one end did not poll; also the
  // server's time if it does not report it.
  fabric::Time rest = 0;
  // The server reports that it had the Call for longer than the time until the Reply, by more than
  // clocks differ. Its times are cut to that time.
  bool implausible = false;
};

[[nodiscard]] Split split(const protocol::CallTimes& times,
                          const std::optional<ServerTimes>& server);

}  // namespace rpcrdma::load
