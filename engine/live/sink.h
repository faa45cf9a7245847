// Where a hub's events go to. All calls come from the hub's thread, and none waits.
#pragma once

#include "event_batch.h"

#include <cstdint>
#include <span>

namespace rpcrdma::trace {

class Sink {
 public:
  virtual ~Sink() = default;

  // First of all: the Endpoint event's block, in a stream of its own the section before it, and
  // what stands.
  virtual void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) = 0;
  virtual void take(const EventBatch& batch) = 0;
  // Now and then.
  virtual void emit_sums(std::int64_t now) = 0;
  // Nothing follows.
  virtual void end(std::int64_t now) = 0;
  // There is no memory for what is told: nothing follows.
  virtual void give_up() = 0;
  // It takes no more events: the reader has gone, the file cannot be written.
  [[nodiscard]] virtual bool over() const = 0;
};

}  // namespace rpcrdma::trace
