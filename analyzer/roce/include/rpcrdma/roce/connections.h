// The connections that a listener was told of, by index, wherever they were found: in packets, or
// told by an endpoint.
#pragma once

#include <cstdint>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::roce {

struct PacketStats {
  std::uint64_t roce = 0;  // packets with a BTH
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_unchecked = 0;  // cut short by the capture
  // Longer than any packet is: several that segmentation offload had not taken apart yet when they
  // were captured. What is in them is not looked at, their ICRC neither.
  std::uint64_t coalesced = 0;
  std::uint64_t malformed = 0;      // transport headers that do not fit
  std::uint64_t cm = 0;             // CM MADs
  std::uint64_t other_service = 0;  // UD other than CM, UC, RD, XRC, CNP
  std::uint64_t retransmitted = 0;
  std::uint64_t captured_twice = 0;
  std::uint64_t reordered = 0;
  std::uint64_t lost_network = 0;
  std::uint64_t lost_capture = 0;
  std::uint64_t nak = 0;
  std::uint64_t rnr = 0;
  std::uint64_t evict = 0;  // connections: see kMaxConnections
};

// A capture may name any number of connections. So many are followed of each kind. For one more one
// is let go that is over, or failing that the one that was idle longest: it is closed, and packets
// that come on it later found a new connection.
inline constexpr std::size_t kMaxConnections = 8192;

// Where several find connections for one listener, each takes the next index from here.
struct ConnectionNumbers {
  std::uint32_t next = 0;
};

class Connections {
 public:
  virtual ~Connections() = default;

  // Of the packets that they were found in.
  [[nodiscard]] virtual PacketStats stats() const = 0;

  // All that there ever were; of those that were let go nothing is known any more.
  [[nodiscard]] virtual std::uint32_t connection_count() const = 0;
  // Null: it was let go, or is another's.
  [[nodiscard]] virtual const Connection* find(std::uint32_t index) const = 0;
  // One that is not found is empty.
  [[nodiscard]] const Connection& connection(std::uint32_t index) const;
};

}  // namespace rpcrdma::roce
