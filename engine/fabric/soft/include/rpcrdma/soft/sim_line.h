// One direction of a simulated link: a queue, a transmitter of some speed, a distance, and what
// goes wrong on the way. It knows sizes and times, not packets.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::soft {

// Rates are probabilities per packet, 0 to 1.
struct SimDirection {
  fabric::Time delay = 0;             // from the last bit's sending to its arrival
  std::uint64_t bits_per_second = 0;  // 0: without limit, and so without a queue
  // What waits, with what is left of the packet that is being sent, in bytes on the wire. A packet
  // that does not fit is dropped.
  std::size_t queue_bytes = 1 << 20;
  double loss = 0;         // after it was sent, as the next three
  double corruption = 0;   // a bit of what the ICRC covers is flipped
  double duplication = 0;  // it arrives twice, one right behind the other
  double reordering = 0;   // it arrives late, and later ones may come before it
  fabric::Time reordering_delay = 100 * fabric::kMicrosecond;
};

struct SimCounters {
  std::uint64_t packets = 0;      // that were to go here
  std::uint64_t bytes = 0;        // of them, on the wire
  std::uint64_t queue_drops = 0;  // did not fit into the queue
  std::uint64_t lost = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
};

// What a datagram (BTH through ICRC) takes on Ethernet: preamble, header, IP, UDP, frame check
// sequence and gap with it.
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

  // A packet of so many bytes on the wire comes at `now`, which does not go back.
  [[nodiscard]] SimFate enter(std::size_t wire_bytes, fabric::Time now);
  // From now on; what has been sent is on its way.
  void change(const SimDirection& direction) { direction_ = direction; }

  [[nodiscard]] const SimCounters& counters() const { return counters_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  // Enters the queue; false when it is full.
  bool send(std::size_t wire_bytes, fabric::Time now);

  SimDirection direction_;
  Random random_;
  SimCounters counters_;
  // When the last bit of all that waits is sent: nanoseconds, and what is beyond them in units of a
  // nanosecond divided by the speed, so that no rounding adds up.
  fabric::Time sent_ = 0;
  std::uint64_t rest_ = 0;
};

}  // namespace rpcrdma::soft
