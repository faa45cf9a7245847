// Takes events out of the rings of all Tracers, in order of time as far as one pass sees it: an
// event that is told late may stand behind a later one of another ring that an earlier pass took.
#pragma once

#include "event_batch.h"
#include "state_snapshot.h"

#include <cstdint>
#include <functional>
#include <vector>

#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {

class RingDrainer {
 public:
  // A batch has so many bytes of blocks, or one event that is larger.
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;

  using Out = std::function<void(const EventBatch&)>;

  void add(Tracer& tracer) { add(tracer.ring(), tracer.number()); }
  void add(Ring& ring, std::uint32_t number) { sources_.push_back({&ring, number, 0}); }

  // All that is in the rings at its beginning. Losses come before the events that were told after
  // them. `out` may be empty: nobody reads, but what stands is kept. Returns how full the fullest
  // ring was, 0 to 1.
  double pass(std::int64_t now, std::int64_t wall_offset, const Out& out);

  [[nodiscard]] const StateSnapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] StateSnapshot& snapshot() { return snapshot_; }

 private:
  struct Source {
    Ring* ring;
    std::uint32_t number;
    std::uint64_t lost;  // of which readers know
  };

  double open(std::int64_t now);
  // The one with the earliest event; null when there is none. `until`: the earliest of the others'.
  Ring::Batch* earliest(std::int64_t& until);
  void hand_out(const Out& out);

  std::vector<Source> sources_;
  std::vector<Ring::Batch> open_;  // of each source what this pass takes
  EventBatch batch_;
  StateSnapshot snapshot_;
};

}  // namespace rpcrdma::trace
