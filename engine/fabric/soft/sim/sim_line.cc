#include <rpcrdma/soft/sim_line.h>

namespace rpcrdma::soft {

// The bits of a queue times the nanoseconds of a second exceed 64 bits at the speeds of today's
// links.
using Wide = unsigned __int128;

SimFate SimLine::enter(std::size_t wire_bytes, fabric::Time now) {
  ++counters_.packets;
  counters_.bytes += wire_bytes;
  SimFate fate;
  if (!send(wire_bytes, now)) {
    ++counters_.queue_drops;
    return fate;
  }
  // Draws no random number for an impossible event.
  const auto happens = [this](double rate, std::uint64_t& counter) {
    if (rate <= 0 || !random_.chance(rate)) return false;
    ++counter;
    return true;
  };
  if (happens(direction_.loss, counters_.lost)) return fate;
  fate.arrives = true;
  fate.arrival = sent_ + direction_.delay;
  fate.corrupt = happens(direction_.corruption, counters_.corrupted);
  fate.twice = happens(direction_.duplication, counters_.duplicated);
  if (happens(direction_.reordering, counters_.reordered)) {
    fate.arrival += direction_.reordering_delay;
  }
  return fate;
}

bool SimLine::send(std::size_t wire_bytes, fabric::Time now) {
  const std::uint64_t speed = direction_.bits_per_second;
  if (now > sent_) {
    sent_ = now;
    rest_ = 0;
  }
  if (speed == 0) {
    rest_ = 0;
    return true;
  }
  const Wide unsent = Wide(static_cast<std::uint64_t>(sent_ - now)) * speed + rest_;
  const Wide bits = Wide(wire_bytes) * 8 * fabric::kSecond;
  if (unsent + bits > Wide(direction_.queue_bytes) * 8 * fabric::kSecond) return false;
  const Wide end = bits + rest_;
  sent_ += static_cast<fabric::Time>(end / speed);
  rest_ = static_cast<std::uint64_t>(end % speed);
  return true;
}

}  // namespace rpcrdma::soft
