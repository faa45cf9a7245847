// Drains the rings of all Tracers, merged by time within one pass. An event that is emitted late
// may follow a later one of another ring that an earlier pass has read.
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
  // A batch holds this many bytes of blocks, or one event that is larger.
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;

  using Out = std::function<void(const EventBatch&)>;

  void add(Tracer& tracer) { add(tracer.ring(), tracer.number()); }
  void add(Ring& ring, std::uint32_t number) { sources_.push_back({&ring, number, 0}); }

  // Reads all events that were in the rings when it started. Losses come before the events emitted
  // after them. `out` may be empty: then there is no reader, and only the snapshot is updated.
  // Without `encode` no reader has room: events are counted, and of most only the header is read.
  // Returns the fill level of the fullest ring, 0 to 1.
  double pass(std::int64_t now, std::int64_t wall_offset, const Out& out, bool encode = true);

  [[nodiscard]] const StateSnapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] StateSnapshot& snapshot() { return snapshot_; }

 private:
  struct Source {
    Ring* ring;
    std::uint32_t number;
    std::uint64_t lost;  // already reported to readers
  };

  double open(std::int64_t now);
  // Returns the batch with the earliest event, or null. `until`: time of the earliest event of the
  // other batches.
  Ring::Batch* earliest(std::int64_t& until);
  void hand_out(const Out& out);

  std::vector<Source> sources_;
  std::vector<Ring::Batch> open_;  // per source, the events of this pass
  EventBatch batch_;
  StateSnapshot snapshot_;
};

}  // namespace rpcrdma::trace
