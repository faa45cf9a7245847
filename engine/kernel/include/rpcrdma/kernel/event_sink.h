// Receives the trace events of a kernel source: a live endpoint's Tracer, or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::kernel {

class EventSink {
 public:
  virtual ~EventSink() = default;

  // `header.ring` is set by the sink. `fixed`: the event's struct, header.fixed bytes. `payload`
  // and `extra_payload`: the two parts of the payload, together header.payload bytes. Valid during
  // the call.
  virtual void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
                     std::span<const std::uint8_t> payload,
                     std::span<const std::uint8_t> extra_payload) = 0;
  // `count` events were lost before they reached the source.
  virtual void lost(std::uint64_t count) = 0;
  // Returns a number for a new connection, unique among those of the sink.
  [[nodiscard]] virtual std::uint32_t new_connection() = 0;

  // `time`: CLOCK_MONOTONIC in ns, or the clock of the file.
  template <typename Event>
  void emit(std::uint32_t connection, std::int64_t time, const Event& e,
            std::span<const std::uint8_t> payload = {},
            std::span<const std::uint8_t> extra_payload = {}) {
    trace::EventHeader header;
    header.type = static_cast<std::uint16_t>(Event::kType);
    header.fixed = sizeof e;
    header.payload = static_cast<std::uint32_t>(payload.size() + extra_payload.size());
    header.connection = connection;
    header.time = time;
    event(header, {reinterpret_cast<const std::uint8_t*>(&e), sizeof e}, payload, extra_payload);
  }
};

}  // namespace rpcrdma::kernel
