// Aligns two clocks by causality alone: no message arrives before it was sent.
//
// Each message that two points saw bounds the offset of their clocks from one side: a message from
// A to B from one, a message from B to A from the other. The closest messages of both directions,
// the minima, leave an interval in which the offset lies. Its middle is the estimate, half of its
// width the bound of the error. Clocks drift and jump, so this holds for one stretch of time each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rpcrdma::ends {

// A message that left one point and reached the other.
struct Crossing {
  std::int64_t sent_ns = 0;      // by the clock of the point that it left
  std::int64_t received_ns = 0;  // by the clock of the point that it reached
  bool from_reference = false;   // it left the reference, and reached the other point
};

// A stretch of time for which one line describes the other clock.
struct ClockStretch {
  std::int64_t from_ns = 0;    // by the other clock
  std::int64_t until_ns = 0;   // by the other clock, inclusive
  std::int64_t offset_ns = 0;  // reference minus other, at from_ns
  double drift_ppm = 0;        // by how much the offset grows
  std::int64_t bound_ns = 0;   // the error is at most this, in this stretch
  bool one_way = false;        // messages of one direction only: there is no bound
};

// Maps the times of one clock, the other, to those of another, the reference.
struct ClockMap {
  std::vector<ClockStretch> stretches;  // in order of time, without overlap; empty: nothing known
  std::uint64_t crossings = 0;
  std::uint64_t jumps = 0;  // steps of either clock, between stretches
  // Crossings that no clock explains, for example of messages that were joined wrongly.
  std::uint64_t contradictions = 0;
  // The first stretch begins with the first crossing, the last one ends with the last: for a second
  // beyond them their lines still give times, but no bound.
  bool extends_before = false, extends_after = false;

  // Nothing: this time lies in no stretch, so a clock jumped there, or nothing was seen.
  [[nodiscard]] std::optional<std::int64_t> to_reference(std::int64_t other_ns) const;
  // The bound of the error at this time. Nothing: none is known.
  [[nodiscard]] std::optional<std::int64_t> bound_at(std::int64_t other_ns) const;
  // The largest bound; nothing: some stretch has none, or there is no stretch.
  [[nodiscard]] std::optional<std::int64_t> worst_bound_ns() const;
  // The bound for four fifths of the time: less is known at the ends of what was seen. Nothing: as
  // above.
  [[nodiscard]] std::optional<std::int64_t> usual_bound_ns() const;
};

struct ClockOptions {
  double most_drift_ppm = 200;               // more is a jump
  std::int64_t stretch_ns = 10'000'000'000;  // a line is fitted for at most this long
};

// `crossings` in any order. Linear in their number, apart from sorting.
[[nodiscard]] ClockMap align(std::span<const Crossing> crossings, const ClockOptions& options = {});

}  // namespace rpcrdma::ends
