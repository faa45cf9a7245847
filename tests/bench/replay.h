// Builds a large capture from small real ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::bench {

struct Replayed {
  std::uint64_t packets = 0;
  std::uint64_t roce = 0;
  std::uint64_t sends = 0;  // on reliable connections, retransmissions included
  std::uint64_t bytes = 0;
};

// Writes the packets of `captures` (classic pcap, little-endian, Ethernet) to `path` repeatedly,
// until there are at least `packets`. In every round, both IPv4 addresses of each RoCEv2 packet get
// new middle bytes, so that the round has connections of its own; checksums and ICRCs are
// recomputed, and times continue. Prints and exits on an I/O error.
[[nodiscard]] Replayed replay(const std::vector<std::string>& captures, std::uint64_t packets,
                              const std::string& path);

}  // namespace rpcrdma::bench
