// The tracepoints that the translator understands, and the fields that it asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rpcrdma::tracepoints {

enum class Event : std::uint8_t {
  kNone,
#define RPCRDMA_TRACEPOINT(id, system, name, pattern) k##id,
#include <rpcrdma/tracepoints/events.def>
#undef RPCRDMA_TRACEPOINT
};

enum class Field : std::uint8_t {
#define RPCRDMA_TRACEPOINT_FIELD(id, name) k##id,
#include <rpcrdma/tracepoints/fields.def>
#undef RPCRDMA_TRACEPOINT_FIELD
};
inline constexpr std::size_t kFields = 0
#define RPCRDMA_TRACEPOINT_FIELD(id, name) +1
#include <rpcrdma/tracepoints/fields.def>
#undef RPCRDMA_TRACEPOINT_FIELD
    ;

struct EventInfo {
  Event event = Event::kNone;
  std::string_view system;
  std::string_view name;
  // The fields, in the text that the kernel prints: see text_line.h.
  std::string_view pattern;
};

// All events, in order of their numbers from 1.
[[nodiscard]] std::span<const EventInfo> events();
[[nodiscard]] const EventInfo* find_event(std::string_view name);  // null: not one of them
[[nodiscard]] const EventInfo& info(Event event);

// Returns false if it is not one of the fields.
[[nodiscard]] bool find_field(std::string_view name, Field& field);

// Whether the event's pattern names the field.
[[nodiscard]] bool asks_for(const EventInfo& event, std::string_view field);

}  // namespace rpcrdma::tracepoints
