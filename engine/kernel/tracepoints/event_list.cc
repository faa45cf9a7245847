#include <algorithm>
#include <array>
#include <utility>

#include <rpcrdma/tracepoints/event_list.h>

namespace rpcrdma::tracepoints {
namespace {

constexpr auto kEvents = std::to_array<EventInfo>({
#define RPCRDMA_TRACEPOINT(id, system, name, pattern) {Event::k##id, system, name, pattern},
#include <rpcrdma/tracepoints/events.def>
#undef RPCRDMA_TRACEPOINT
});

constexpr auto kFieldNames = std::to_array<std::string_view>({
#define RPCRDMA_TRACEPOINT_FIELD(id, name) name,
#include <rpcrdma/tracepoints/fields.def>
#undef RPCRDMA_TRACEPOINT_FIELD
});

constexpr auto kByName = [] {
  std::array<std::uint8_t, kEvents.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint8_t>(i);
  std::sort(order.begin(), order.end(),
            [](std::uint8_t a, std::uint8_t b) { return kEvents[a].name < kEvents[b].name; });
  return order;
}();

}  // namespace

std::span<const EventInfo> events() {
  return kEvents;
}

const EventInfo* find_event(std::string_view name) {
  const auto it =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](std::uint8_t i, std::string_view n) { return kEvents[i].name < n; });
  return it != kByName.end() && kEvents[*it].name == name ? &kEvents[*it] : nullptr;
}

const EventInfo& info(Event event) {
  return kEvents[static_cast<std::size_t>(event) - 1];
}

bool find_field(std::string_view name, Field& field) {
  const auto it = std::find(kFieldNames.begin(), kFieldNames.end(), name);
  if (it == kFieldNames.end()) return false;
  field = static_cast<Field>(it - kFieldNames.begin());
  return true;
}

bool asks_for(const EventInfo& event, std::string_view field) {
  const std::string_view pattern = event.pattern;
  constexpr std::string_view kEnds = "}: |";
  for (std::size_t at = pattern.find(field); at != std::string_view::npos;
       at = pattern.find(field, at + 1)) {
    const char before = at > 0 ? pattern[at - 1] : ' ';
    const std::size_t end = at + field.size();
    const char after = end < pattern.size() ? pattern[end] : ' ';
    const bool in_braces = before == '{' && (after == '}' || after == ':');
    const std::size_t extra = pattern.rfind('|');
    const bool is_extra = extra != std::string_view::npos && at > extra &&
                          (before == '|' || before == ' ') && kEnds.find(after) != kEnds.npos;
    if (in_braces || is_extra) return true;
  }
  return false;
}

}  // namespace rpcrdma::tracepoints
