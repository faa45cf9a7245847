#include "call_lines.h"

#include "row.h"
#include "values.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::top {

namespace {

using Align = Row::Side;
using states::State;

constexpr std::size_t kStatesName = 10;

std::string state_count(const states::Counts& counts, State state) {
  const auto n = counts.of(state);
  if (!n) return "?";
  return fmt::format("{}{}{}", counts.uncertain ? "~" : "", brief(*n),
                     counts.at_least(state) ? "+" : "");
}

// What a Call should not wait for.
bool is_wait(State state) {
  return state == State::kSlot || state == State::kCredit;
}

std::string share_text(double share) {
  return share < 0 ? "?" : fmt::format("{:.0f}%", std::floor(share * 100 + 0.5));
}

// Shares from which a part is pointed out.
constexpr double kMuchOfTime = 0.5;

// "server 12/980"
std::string slow_text(const ShownEnds& ends, bool with_stage) {
  if (!ends.why.empty()) return ends.why;
  if (ends.calls == 0) return "no Calls";
  if (ends.side == ends::Side::kNone) return "-";
  std::string text =
      fmt::format("{} {}/{}", ends::side_key(ends.side), brief(ends.slow), brief(ends.calls));
  if (with_stage) text += fmt::format(": {}", ends::stage_text(ends.stage));
  return text;
}

constexpr std::size_t kWideEnds = 100;

}  // namespace

Line states_line(const char* name, const states::Counts& counts, std::size_t width, bool utf8) {
  struct Item {
    std::string text;
    Style style;
  };
  std::vector<Item> items;
  std::size_t letters = kStatesName;
  const auto item = [&](std::string text, Style style) {
    letters += text.size();
    items.push_back({std::move(text), style});
  };
  for (std::size_t i = 0; i < states::kStates; ++i) {
    const auto state = static_cast<State>(i);
    const auto n = counts.of(state);
    const Style style = !n || *n == 0    ? Style::kDim
                        : is_wait(state) ? Style::kWarning
                                         : Style::kPlain;
    item(fmt::format("{} {}", states::state_label(state), state_count(counts, state)), style);
  }
  if (counts.earlier != 0) item("earlier " + brief(counts.earlier), Style::kPlain);
  const std::size_t gap = letters + 2 * (items.size() - 1) <= width ? 2 : 1;
  Row r(width, utf8);
  r.cell(std::string(" ") + name, kStatesName, Align::kLeft, Style::kBold);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) r.space(gap);
    r.put(items[i].text, items[i].style);
  }
  return r.take();
}

Line network_line(const ShownNetwork& network, std::size_t width, bool utf8) {
  Row r(width, utf8);
  r.cell(network.device ? " Device/s" : " Fabric/s", kStatesName, Align::kLeft, Style::kBold);
  constexpr std::size_t kSource = 16;
  r.cell(network.name, kSource - 1, Align::kLeft).space(1);
  bool first = true;
  for (std::size_t i = 0; i < kNetworkKinds; ++i) {
    if (!network.total[i]) continue;
    const std::string value =
        network.per_second[i]
            ? plot::format_value(plot::Unit::kCount, rounded(*network.per_second[i]))
            : "-";
    if (!first) r.space(2);
    first = false;
    r.put(network_label(static_cast<NetworkKind>(i))).put(" ");
    r.put(value, network.per_second[i].value_or(0) > 0 ? Style::kWarning : Style::kPlain);
  }
  return r.take();
}

Line ends_names(std::size_t width, bool utf8) {
  Row r(width, utf8);
  const auto cell = [&](const char* name, std::size_t columns) {
    r.cell(name, columns, Align::kRight, Style::kBar);
  };
  cell("ID", 5);
  cell("BOTH/s", 7);
  cell("p50", 8);
  cell("CLIENT", 7);
  cell("THERE", 6);
  cell("SERVER", 7);
  cell("DATA", 5);
  cell("BACK", 5);
  cell("?", 5);
  cell("CLOCK", 9);
  r.put(" SLOW NOW", Style::kBar);
  return r.take(Style::kBar);
}

Line ends_line(const ShownEnds& ends, std::size_t width, bool utf8) {
  Row r(width, utf8);
  const auto cell = [&](const std::string& text, std::size_t columns, Style style = Style::kPlain) {
    r.space(1).cell(text, columns - 1, Align::kRight, style);
  };
  const auto share = [&](double value, std::size_t columns) {
    cell(ends.calls == 0 ? "-" : share_text(value), columns,
         value >= kMuchOfTime ? Style::kBold : Style::kPlain);
  };
  cell(std::to_string(ends.id), 5);
  cell(brief(ends.calls), 7);
  cell(duration_text(ends.p50_ns), 8);
  share(ends.at_client, 7);
  share(ends.there, 6);
  share(ends.at_server, 7);
  share(ends.data, 5);
  share(ends.back, 5);
  share(ends.unknown, 5);
  cell(ends.bound_ns < 0 ? "?" : (utf8 ? "±" : "+-") + duration_text(ends.bound_ns), 9);
  const bool slow = ends.side != ends::Side::kNone && ends.calls != 0;
  r.space(1).put(slow_text(ends, width >= kWideEnds), slow ? Style::kWarning : Style::kPlain);
  return r.take();
}

}  // namespace rpcrdma::top
