// Where the time from a Call's sending to its Reply went, from what both ends measured.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::load {

// What the server says of a Call, nanoseconds of its own clock. Nobody has verified it.
struct ServerTimes {
  std::uint64_t reading = 0;  // from the arrival of its Send until its Read chunks were all there
  std::uint64_t working = 0;  // from then until the Reply was made
};

// Nanoseconds. Together they are the time from `sent` to `replied`.
struct Split {
  // Posted until the Send was known to have arrived; nothing where the Reply was the first to tell,
  // which then is in the rest.
  std::optional<fabric::Time> sending;
  std::optional<fabric::Time> reading, working;  // of the server's; nothing where it says nothing
  // The network, the server's RDMA Writes, and time in which one end did not look; and the server
  // too, where that says nothing.
  fabric::Time rest = 0;
  // The server says that it had the Call for longer than it was away, by more than clocks differ.
  // What it says is cut to that time.
  bool implausible = false;
};

[[nodiscard]] Split split(const protocol::CallTimes& times,
                          const std::optional<ServerTimes>& server);

}  // namespace rpcrdma::load
