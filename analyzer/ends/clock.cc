#include <algorithm>

#include <rpcrdma/ends/clock.h>

namespace rpcrdma::ends {

std::optional<std::int64_t> ClockMap::to_reference(std::int64_t other_ns) const {
  for (const ClockStretch& s : stretches) {
    if (other_ns < s.from_ns || other_ns > s.until_ns) continue;
    const double grown = static_cast<double>(other_ns - s.from_ns) * s.drift_ppm * 1e-6;
    return other_ns + s.offset_ns + static_cast<std::int64_t>(grown);
  }
  return std::nullopt;
}

std::optional<std::int64_t> ClockMap::bound_at(std::int64_t other_ns) const {
  for (const ClockStretch& s : stretches) {
    if (other_ns >= s.from_ns && other_ns <= s.until_ns && !s.one_way) return s.bound_ns;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ClockMap::worst_bound_ns() const {
  std::optional<std::int64_t> worst;
  for (const ClockStretch& s : stretches) {
    if (s.one_way) return std::nullopt;
    worst = std::max(worst.value_or(0), s.bound_ns);
  }
  return worst;
}

ClockMap align(std::span<const Crossing> crossings, const ClockOptions& /*options*/) {
  ClockMap map;
  map.crossings = crossings.size();
  std::optional<std::int64_t> low, high;  // of reference minus other
  std::int64_t from = INT64_MAX, until = INT64_MIN;
  for (const Crossing& c : crossings) {
    if (c.from_reference) {
      const std::int64_t least = c.sent_ns - c.received_ns;
      low = std::max(low.value_or(least), least);
    } else {
      const std::int64_t most = c.received_ns - c.sent_ns;
      high = std::min(high.value_or(most), most);
    }
    const std::int64_t other = c.from_reference ? c.received_ns : c.sent_ns;
    from = std::min(from, other);
    until = std::max(until, other);
  }
  if (!low && !high) return map;
  ClockStretch s;
  s.from_ns = from;
  s.until_ns = until;
  s.one_way = !low || !high;
  if (s.one_way) {
    s.offset_ns = low ? *low : *high;
  } else {
    s.offset_ns = *low + (*high - *low) / 2;
    s.bound_ns = (*high - *low + 1) / 2;
  }
  map.stretches.push_back(s);
  return map;
}

}  // namespace rpcrdma::ends
