// Recordings in progress of an endpoint's process: the pcapng files that it has open for writing.
#pragma once

#include <cstdint>
#include <vector>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::agent {

// None if the process is another user's, unless this one is root.
[[nodiscard]] std::vector<fleet::RecordingSummary> recordings_of(std::uint32_t process);

}  // namespace rpcrdma::agent
