// Writes captures whose shape varies in one number, so that a benchmark sees what that number
// costs.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::bench {

inline constexpr std::uint32_t kEndless = UINT32_MAX;

// NFSv3 over RPC-over-RDMA version 1, without faults.
struct GrowthShape {
  std::uint32_t connections = 16;  // open at a time; when all have ended, as many others follow
  std::uint32_t outstanding = 4;   // Calls, on each connection
  // Calls that a connection makes before it ends; kEndless: until there are enough packets.
  std::uint32_t calls = 12;
  std::uint32_t segments = 0;  // of 64 bytes, in one Read chunk or one Write chunk of each Call
  bool write_chunks = false;   // NFS READs with a Write chunk, in place of WRITEs with a Read chunk
  std::uint32_t files = 16;    // that the Calls are about, in all
  bool one_client = false;     // all connections are between the same two addresses
  bool cm = true;              // the capture shows how connections are set up and end
  std::uint64_t packets = 250'000;  // at least
};

struct GrowthCapture {
  std::uint64_t packets = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

// Writes a classic pcap file. Replies come in random order; the same shape gives the same file.
// Prints and exits on an I/O error.
[[nodiscard]] GrowthCapture write_growth_capture(const GrowthShape& shape, const std::string& path);

}  // namespace rpcrdma::bench
