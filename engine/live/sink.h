// Interface of the consumers of a hub's events. The hub's thread makes all calls; none may block.
#pragma once

#include "event_batch.h"

#include <cstdint>
#include <span>

namespace rpcrdma::trace {

class Sink {
 public:
  virtual ~Sink() = default;

  // Called first, with the block of the Endpoint event. The state snapshot follows; a sink with a
  // stream of its own writes the section header first.
  virtual void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) = 0;
  virtual void take(const EventBatch& batch) = 0;
  // Returns whether it would keep events; otherwise it only counts them.
  [[nodiscard]] virtual bool has_room() const = 0;
  // Called periodically.
  virtual void emit_sums(std::int64_t now) = 0;
  // Called last.
  virtual void end(std::int64_t now) = 0;
  // Called when there is no memory for events: nothing follows.
  virtual void give_up() = 0;
  // Returns whether it accepts no more events: the reader has disconnected, or the file cannot be
  // written.
  [[nodiscard]] virtual bool over() const = 0;
};

}  // namespace rpcrdma::trace
