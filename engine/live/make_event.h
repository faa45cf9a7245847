// Builds events that no Tracer emits: the hub's own.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace {

// Returns the event as it is laid out in a ring.
template <typename Event>
[[nodiscard]] std::vector<std::uint8_t> make_event(std::uint32_t ring, std::int64_t time,
                                                   const Event& event,
                                                   std::span<const std::uint8_t> payload = {}) {
  EventHeader header;
  header.type = static_cast<std::uint16_t>(Event::kType);
  header.fixed = sizeof event;
  header.payload = static_cast<std::uint32_t>(payload.size());
  header.ring = ring;
  header.time = time;
  std::vector<std::uint8_t> bytes(event_bytes(header));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &event, sizeof event);
  if (!payload.empty()) {
    std::memcpy(bytes.data() + sizeof header + sizeof event, payload.data(), payload.size());
  }
  return bytes;
}

}  // namespace rpcrdma::trace
