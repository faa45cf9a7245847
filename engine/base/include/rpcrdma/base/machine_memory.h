// How much memory this process can have at most: the machine's, or that of its control groups.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::base {

// Bytes: the least of the machine's memory and of the limits of this process's control group and of
// those above it (cgroup version 1 and 2). 0: not known. `root`: prefix of /proc and of the mount
// points, for tests.
[[nodiscard]] std::uint64_t machine_memory(const std::string& root = {});

}  // namespace rpcrdma::base
