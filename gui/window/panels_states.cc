// Feeds the views of outstanding Calls and of device counters.
#include "panels.h"

#include <algorithm>

#include <rpcrdma/states/call_states.h>

namespace rpcrdma::gui {

namespace {

struct StateLook {
  Ink ink;
  double strength;
};

// The colour of the side at which a Call is: the client, the network, the server.
StateLook state_look(states::State state) {
  switch (state) {
    case states::State::kSlot:
      return {Ink::kCall, 0.2};
    case states::State::kCredit:
      return {Ink::kCall, 0.45};
    case states::State::kPreparing:
      return {Ink::kCall, 1};
    case states::State::kPosted:
      return {Ink::kWaiting, 1};
    case states::State::kAtServer:
      return {Ink::kReply, 1};
    case states::State::kMoving:
      return {Ink::kReverseCall, 1};
    case states::State::kAnswered:
      return {Ink::kEvent, 0.6};
  }
  return {Ink::kEvent, 1};
}

}  // namespace

CallStatesPicture Panels::states_of(const index::Content& content, std::uint32_t connection,
                                    TimeRange::Span shown) {
  CallStatesPicture picture;
  const std::uint32_t at = content.canonical(connection);
  if (at >= content.states.size() || content.states[at] == nullptr) return picture;
  const index::StatesLog& log = *content.states[at];
  for (std::size_t i = 0; i < states::kStates; ++i) {
    const auto state = static_cast<states::State>(i);
    const StateLook look = state_look(state);
    picture.states.push_back({tr(states::state_text(state)), look.ink, look.strength,
                              log.now.of(state), log.now.at_least(state)});
  }
  picture.earlier = log.now.earlier;
  picture.uncertain = log.now.uncertain;
  picture.over = content.progress.finished;
  picture.from_ns = shown.from_ns;
  picture.to_ns = shown.to_ns;
  const auto& series = log.over_time;
  if (series.empty()) return picture;
  std::array<std::uint32_t, states::kStates> last{};
  for (std::int64_t n = series.first(); n <= series.last(); ++n) {
    const index::StatesBin& bin = series.bin(n);
    const auto& most = bin.any ? bin.most : last;
    if (bin.any) last = bin.last;
    const std::int64_t from = n * series.width_ns();
    if (from + series.width_ns() < shown.from_ns || from > shown.to_ns) continue;
    picture.bins.push_back({from, from + series.width_ns(), {most.begin(), most.end()}});
  }
  // Calls that hang cause no events: they are where they were.
  const std::int64_t end = (series.last() + 1) * series.width_ns();
  if (end < shown.to_ns && !content.progress.finished) {
    picture.bins.push_back({end, shown.to_ns, {last.begin(), last.end()}});
  }
  return picture;
}

void Panels::show_states() {
  const auto connection = document_.connection();
  if (!connection || !in_sight(states)) return;
  const TimeRange::Span shown = document_.time_range().shown();
  states->set_picture(document_.store().read(
      [&](const index::Content& c) { return states_of(c, *connection, shown); }));
}

void Panels::show_devices() {
  if (!in_sight(devices)) return;
  DeviceCounters counters = device_watch_->counters();
  // Readings of this host are older and newer than the messages that have arrived.
  if (const auto chosen = document_.time_range().range()) {
    counters.from_ns = chosen->from_ns;
    counters.to_ns = chosen->to_ns;
  }
  devices->set_counters(std::move(counters));
}

}  // namespace rpcrdma::gui
