// One direction of a simulated link: a queue, a transmitter with a bit rate, a delay, and random
// impairments. It knows sizes and times, not packets.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::soft {

// Rates are probabilities per packet, 0 to 1.
struct SimDirection {
  fabric::Time delay = 0;             // from the last bit's sending to its arrival
  std::uint64_t bits_per_second = 0;  // 0: unlimited, and so without a queue
  // Limit on queued bytes on the wire, including the rest of the packet in transmission. A packet
  // that does not fit is dropped.
  std::size_t queue_bytes = 1 << 20;
  double loss = 0;         // after transmission, like the next three
  double corruption = 0;   // a bit that the ICRC covers is flipped
  double duplication = 0;  // it arrives twice in a row
  double reordering = 0;   // it arrives late, so later ones may overtake it
  fabric::Time reordering_delay = 100 * fabric::kMicrosecond;
};

struct SimCounters {
  std::uint64_t packets = 0;      // offered to this direction
  std::uint64_t bytes = 0;        // of these packets, on the wire
  std::uint64_t queue_drops = 0;  // did not fit into the queue
  std::uint64_t lost = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
};

// Returns the wire size of a datagram (BTH through ICRC) on Ethernet: with preamble, header, IP,
// UDP, frame check sequence and gap.
[[nodiscard]] constexpr std::size_t sim_wire_bytes(std::size_t datagram_bytes, bool ipv6) {
  return 8 + 14 + (ipv6 ? 40 : 20) + 8 + datagram_bytes + 4 + 12;
}

struct SimFate {
  bool arrives = false;
  bool corrupt = false;
  bool twice = false;
  fabric::Time arrival = 0;
};

class SimLine {
 public:
  SimLine(const SimDirection& direction, std::uint64_t seed)
      : direction_(direction), random_(seed) {}

  // A packet of this size on the wire arrives at `now`, which never decreases.
  [[nodiscard]] SimFate enter(std::size_t wire_bytes, fabric::Time now);
  // Applies from now on; packets already transmitted are not affected.
  void change(const SimDirection& direction) { direction_ = direction; }

  [[nodiscard]] const SimCounters& counters() const { return counters_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  // Adds to the queue; false if it is full.
  bool send(std::size_t wire_bytes, fabric::Time now);

  SimDirection direction_;
  Random random_;
  SimCounters counters_;
  // When the last bit of all queued packets is sent: nanoseconds, plus a remainder in units of a
  // nanosecond divided by the bit rate, so that rounding errors do not accumulate.
  fabric::Time sent_ = 0;
  std::uint64_t rest_ = 0;
};

}  // namespace rpcrdma::soft
