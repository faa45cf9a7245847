// An RDMA device in this process: librdmacm's and libibverbs' functions, as the verbs provider
// calls them. A program that links fake_rdma_core.cc gets these instead of the libraries' own. Work
// is done when it is posted, and everything is counted: posts, completions, registrations.
#pragma once

#include <cstdint>

namespace rpcrdma::testing {

// Since the program began, by all providers.
struct FakeCounts {
  std::uint64_t send_posts = 0, send_requests = 0, signaled = 0, copied = 0;
  std::uint64_t receive_posts = 0, receive_requests = 0;
  std::uint64_t completions = 0;  // polled
  std::uint64_t armed = 0;
  std::uint64_t event_reads = 0;  // of completion channels
  std::uint64_t registered = 0, deregistered = 0;
  std::uint64_t binds = 0, invalidations = 0, remote_invalidations = 0;
  std::uint64_t unready = 0;  // messages for which no Receive was posted; they are lost
  std::uint64_t refused = 0;  // accesses with a handle that is not valid, or out of its bounds
};
[[nodiscard]] const FakeCounts& fake_counts();

}  // namespace rpcrdma::testing
