// What the plan needs to know of a capture file: when it was captured, and between whom.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace rpcrdma::batch {

struct Scan {
  std::string unreadable;  // why it cannot be read as a capture; empty: it can
  bool empty = false;      // of zero bytes
  bool frames = false;     // it has some; the times are valid
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  // Pairs of addresses between which the file's beginning shows connections: "A B", sorted.
  std::set<std::string> pairs;
};

// Reads the first `head` frames (0: all), and finds the last one from the end of the file: of a
// pcap or pcapng file without reading what lies between. Other files, and compressed ones, are read
// to their end. Thread-safe.
[[nodiscard]] Scan scan_file(const std::string& path, std::uint32_t head = 2000);

}  // namespace rpcrdma::batch
