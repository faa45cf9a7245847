// The same packets in other forms than one plain file: a ring of files.
#pragma once

#include <string>
#include <vector>

namespace rpcrdma::bench {

// Splits a classic pcap file (little-endian) into `files` consecutive files in `folder`, of equal
// numbers of packets, and returns their paths. Prints and exits on an I/O error.
[[nodiscard]] std::vector<std::string> write_ring(const std::string& capture,
                                                  const std::string& folder, unsigned files);

}  // namespace rpcrdma::bench
