// The connections reported to a listener, by index, whether found in packets or recorded by an
// endpoint.
#pragma once

#include <cstdint>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::roce {

struct PacketStats {
  std::uint64_t roce = 0;  // packets with a BTH
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  // Included in icrc_bad: no sign of damage, because receivers accept what this sender sends.
  std::uint64_t icrc_accepted = 0;
  std::uint64_t icrc_off = 0;        // not verified, by request
  std::uint64_t icrc_unchecked = 0;  // truncated by the capture
  // Longer than any packet: several packets that were captured before segmentation offload split
  // them. Neither their content nor their ICRC is decoded.
  std::uint64_t coalesced = 0;
  std::uint64_t malformed = 0;  // undecodable transport headers
  // Among icrc_unchecked: without all of their headers behind the BTH, and CM MADs that the
  // capture cut.
  std::uint64_t headers_cut = 0;
  std::uint64_t cm_cut = 0;
  std::uint64_t cm = 0;             // CM MADs
  std::uint64_t other_service = 0;  // UD other than CM, UC, RD, XRC
  std::uint64_t cnp = 0;            // congestion notification packets, of any connection
  std::uint64_t ce = 0;             // RC packets marked CE (congestion experienced)
  std::uint64_t retransmitted = 0;
  std::uint64_t captured_twice = 0;
  std::uint64_t reordered = 0;
  std::uint64_t lost_network = 0;
  std::uint64_t lost_capture = 0;
  std::uint64_t nak = 0;
  std::uint64_t rnr = 0;
  std::uint64_t iwarp = 0;     // TCP segments of iWARP connections
  std::uint64_t crc_good = 0;  // their FPDUs
  std::uint64_t crc_bad = 0;
  std::uint64_t crc_unchecked = 0;  // truncated by the capture, or MPA's set-up excludes CRCs
  std::uint64_t evict = 0;          // connections: see kMaxConnections
};

// A capture may contain any number of connections. This many of each kind are followed. For one
// more, a connection that is over is evicted, or else the one that was idle longest: it is closed,
// and later packets on it begin a new connection.
inline constexpr std::size_t kMaxConnections = 8192;

// If several sources find connections for one listener, each draws its next index from here.
struct ConnectionNumbers {
  std::uint32_t next = 0;
};

class Connections {
 public:
  virtual ~Connections() = default;

  // Counts of the packets in which the connections were found.
  [[nodiscard]] virtual PacketStats stats() const = 0;

  // All connections so far; nothing else is known of evicted ones.
  [[nodiscard]] virtual std::uint32_t connection_count() const = 0;
  // Null: it was evicted, or belongs to another source.
  [[nodiscard]] virtual const Connection* find(std::uint32_t index) const = 0;
  // Returns an empty connection if it is not found.
  [[nodiscard]] const Connection& connection(std::uint32_t index) const;
};

}  // namespace rpcrdma::roce
