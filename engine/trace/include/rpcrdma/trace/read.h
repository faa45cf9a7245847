// Parses events of a recording or of a live socket, which are untrusted until checked.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace {

struct EventView {
  EventHeader header;
  std::span<const std::uint8_t> fixed;
  std::span<const std::uint8_t> payload;
};

// Returns the event at the start of `bytes`; nothing if it is incomplete.
[[nodiscard]] inline std::optional<EventView> view_event(std::span<const std::uint8_t> bytes) {
  EventView view;
  if (bytes.size() < sizeof view.header) return std::nullopt;
  std::memcpy(&view.header, bytes.data(), sizeof view.header);
  const auto rest = bytes.subspan(sizeof view.header);
  if (view.header.fixed > rest.size() || view.header.payload > rest.size() - view.header.fixed) {
    return std::nullopt;
  }
  view.fixed = rest.first(view.header.fixed);
  view.payload = rest.subspan(view.header.fixed, view.header.payload);
  return view;
}

// Returns the struct of an event. Fields that an older writer did not have keep their defaults.
template <typename Event>
[[nodiscard]] std::optional<Event> read_event(const EventView& view) {
  if (view.header.type != static_cast<std::uint16_t>(Event::kType)) return std::nullopt;
  Event event;
  std::memcpy(&event, view.fixed.data(), std::min(sizeof event, view.fixed.size()));
  return event;
}

}  // namespace rpcrdma::trace
