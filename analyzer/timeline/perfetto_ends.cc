// Draws both ends of the Calls. Each connection has three processes: the client, the network and
// the server. A Call has the same row in all three for the whole of its time, so rows of different
// Calls never mix, and flows lead from the client's slice over the network to the server's and
// back.
#include "perfetto_ends.h"

#include "rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace rpcrdma::timeline {

namespace {

using ends::Side;
using ends::Stage;

// Process IDs behind those of any connection.
constexpr std::uint32_t kFirstProcess = 0x40000000;
constexpr std::uint32_t kPoints = 3;
enum Point : std::uint32_t { kClientPoint, kNetworkPoint, kServerPoint };

std::uint32_t process_of(std::uint32_t connection, Point point) {
  return kFirstProcess + connection * kPoints + point;
}

struct Extent {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return end <= begin; }
};

using Extents = std::array<Extent, ends::kStages>;

constexpr std::array kOfClient{Stage::kSlot, Stage::kCredit, Stage::kPost, Stage::kWake};
constexpr std::array kOfNetwork{Stage::kNetworkThere, Stage::kRead, Stage::kWrite,
                                Stage::kNetworkBack};
constexpr std::array kOfServer{Stage::kDecode, Stage::kExecute, Stage::kSend};

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

constexpr std::size_t at(Stage stage) {
  return static_cast<std::size_t>(stage);
}

class Drawing {
 public:
  Drawing(TraceEvents& trace, const ends::Ends& all, const EndsClock& clock)
      : trace_(trace), ends_(all), clock_(clock) {}

  void call(const ends::EndsCall& c) {
    const Extent whole = within({c.begin_ns, c.end_ns}, {clock_.reference_ns, INT64_MAX});
    if (whole.empty()) return;
    Lane& lane = lanes(c.connection);
    while (!lane.busy.empty() && lane.busy.top().first <= whole.begin) {
      lane.rows.give_back(lane.busy.top().second);
      lane.busy.pop();
    }
    const std::uint32_t row = lane.rows.take();
    lane.busy.emplace(whole.end, row);
    Extents stages;
    for (const auto list : {std::span<const Stage>(kOfClient), std::span<const Stage>(kOfNetwork),
                            std::span<const Stage>(kOfServer)}) {
      lay_out(c, list, whole, stages);
    }
    const Extent server = around(kOfServer, stages);
    draw(c, whole, server, stages, row);
    flows(c, whole, server, stages, row);
  }

 private:
  struct Lane {
    Rows rows;
    // The rows in use, by the end of their Calls.
    using Busy = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  };

  Lane& lanes(std::uint32_t connection) {
    if (connection >= lanes_.size()) lanes_.resize(connection + std::size_t{1});
    return lanes_[connection];
  }

  // By the clock of the trace, and inside `limits`.
  [[nodiscard]] Extent within(const Extent& e, const Extent& limits) const {
    return {std::clamp(sum_of(e.begin, clock_.shift_ns), limits.begin, limits.end),
            std::clamp(sum_of(e.end, clock_.shift_ns), limits.begin, limits.end)};
  }

  // The slices of one track are disjoint: clocks can err by more than a stage takes.
  void lay_out(const ends::EndsCall& c, std::span<const Stage> list, const Extent& whole,
               Extents& stages) const {
    std::int64_t free = whole.begin;
    for (const Stage stage : list) {
      const std::size_t i = at(stage);
      stages[i] = {};
      if (c.began_ns[i] == ends::kUnknownNs || c.took_ns[i] <= 0) continue;
      Extent e = within({c.began_ns[i], sum_of(c.began_ns[i], c.took_ns[i])}, whole);
      e.begin = std::max(e.begin, free);
      if (e.empty()) continue;
      stages[i] = e;
      free = e.end;
    }
  }

  static Extent around(std::span<const Stage> list, const Extents& stages) {
    Extent all{INT64_MAX, INT64_MIN};
    for (const Stage stage : list) {
      const Extent& e = stages[at(stage)];
      if (e.empty()) continue;
      all.begin = std::min(all.begin, e.begin);
      all.end = std::max(all.end, e.end);
    }
    return all;
  }

  Track track(const ends::EndsCall& c, Point point, std::uint32_t row) {
    const Track to{process_of(c.connection, point), row + 1};
    if (named_.insert(to.process).second) name(c.connection, point, to.process);
    if (named_rows_.emplace(to.process, row).second) {
      trace_.name_thread(to, fmt::format("Calls {}", row + 1));
    }
    return to;
  }

  void name(std::uint32_t connection, Point point, std::uint32_t process) {
    std::string client = "?";
    std::string server = "?";
    if (connection < ends_.connections.size()) {
      client = ends_.connections[connection].client;
      server = ends_.connections[connection].server;
    }
    const std::string of = fmt::format("both ends {}", connection + 1);
    switch (point) {
      case kClientPoint:
        return trace_.name_process(process, fmt::format("{}, client {}", of, client));
      case kNetworkPoint:
        return trace_.name_process(process, fmt::format("{}, network {} > {}", of, client, server));
      case kServerPoint:
        return trace_.name_process(process, fmt::format("{}, server {}", of, server));
    }
  }

  void draw(const ends::EndsCall& c, const Extent& whole, const Extent& server,
            const Extents& stages, std::uint32_t row) {
    const std::string& title = c.name.empty() ? kUnnamed : c.name;
    const Track client_track = track(c, kClientPoint, row);
    trace_.slice(client_track, title, "point", whole.begin, whole.end);
    call_args(c);
    trace_.close();
    draw_stages(c, client_track, kOfClient, stages);
    if (!around(kOfNetwork, stages).empty()) {
      draw_stages(c, track(c, kNetworkPoint, row), kOfNetwork, stages);
    }
    if (server.empty()) return;
    const Track server_track = track(c, kServerPoint, row);
    trace_.slice(server_track, title, "point", server.begin, server.end);
    xid_arg(c);
    trace_.close();
    draw_stages(c, server_track, kOfServer, stages);
  }

  void draw_stages(const ends::EndsCall& c, Track to, std::span<const Stage> list,
                   const Extents& stages) {
    for (const Stage stage : list) {
      const Extent& e = stages[at(stage)];
      if (e.empty()) continue;
      trace_.slice(to, ends::stage_text(stage), "stage", e.begin, e.end);
      xid_arg(c);
      trace_.args().field("stage", ends::stage_key(stage));
      trace_.args().field("took_us", microseconds(c.took_ns[at(stage)]));
      const bool crossing = stage == Stage::kNetworkThere || stage == Stage::kNetworkBack;
      if (crossing && c.bound_ns != ends::kUnknownNs) {
        trace_.args().field("error_at_most_us", microseconds(c.bound_ns));
      }
      trace_.close();
    }
  }

  void xid_arg(const ends::EndsCall& c) {
    trace_.args().field("xid", fmt::format("{:#010x}", c.xid));
  }

  void call_args(const ends::EndsCall& c) {
    xid_arg(c);
    report::JsonWriter& args = trace_.args();
    args.field("side", ends::side_key(c.side));
    if (c.side != Side::kNone && c.side != Side::kInconclusive) {
      args.field("stage", ends::stage_key(c.stage));
    }
    args.field("reverse", c.reverse);
    args.field("unknown_us", microseconds(c.unknown_ns));
    if (c.contradictory) args.field("contradictory", true);
    std::string seen;
    for (std::size_t i = 0; i < std::min<std::size_t>(ends_.sources.size(), 32); ++i) {
      if ((c.seen_by >> i & 1U) == 0) continue;
      seen += fmt::format("{}{}", seen.empty() ? "" : ", ", ends_.sources[i].file);
    }
    args.field("seen_by", seen);
  }

  struct Anchor {
    Track track;
    std::int64_t time_ns;
  };

  // The flow of the Call, and that of the Reply. A reverse Call begins at the "client" too: its
  // caller is drawn there.
  void flows(const ends::EndsCall& c, const Extent& whole, const Extent& server,
             const Extents& stages, std::uint32_t row) {
    if (whole.empty()) return;
    const Extent& post = stages[at(Stage::kPost)];
    const Extent& there = stages[at(Stage::kNetworkThere)];
    const Extent& back = stages[at(Stage::kNetworkBack)];
    const Extent& wake = stages[at(Stage::kWake)];
    std::vector<Anchor> list;
    const auto add = [&](Point point, const Extent& e, std::int64_t time_ns) {
      if (!e.empty()) list.push_back({track(c, point, row), time_ns});
    };
    const std::int64_t left = !there.empty()    ? there.begin
                              : !server.empty() ? server.begin
                                                : whole.begin;
    const std::int64_t posted = std::clamp(left, whole.begin, whole.end - 1);
    add(kClientPoint, whole, post.empty() ? posted : std::min(post.end - 1, posted));
    add(kNetworkPoint, there, there.begin);
    add(kServerPoint, server, server.begin);
    arrow("Call", list);
    list.clear();
    add(kServerPoint, server, server.empty() ? server.begin : server.end - 1);
    add(kNetworkPoint, back, back.begin);
    if (!list.empty()) {
      const std::int64_t arrived = !back.empty() ? back.end : list.back().time_ns;
      add(kClientPoint, whole,
          wake.empty() ? std::clamp(arrived, whole.begin, whole.end - 1) : wake.begin);
    }
    arrow("Reply", list);
  }

  void arrow(const char* what, const std::vector<Anchor>& list) {
    using Place = TraceEvents::Place;
    const bool in_order =
        std::is_sorted(list.begin(), list.end(),
                       [](const Anchor& a, const Anchor& b) { return a.time_ns < b.time_ns; });
    if (list.size() < 2 || !in_order) return;
    ++flows_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Place place = i == 0                 ? Place::kBegin
                          : i + 1 == list.size() ? Place::kEnd
                                                 : Place::kNext;
      trace_.flow(list[i].track, what, "flow", list[i].time_ns, place, flows_);
    }
  }

  inline static const std::string kUnnamed = "Call";

  TraceEvents& trace_;
  const ends::Ends& ends_;
  EndsClock clock_;
  std::vector<Lane> lanes_;  // by connection
  std::set<std::uint32_t> named_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> named_rows_;
  std::uint64_t flows_ = 0;
};

}  // namespace

void write_ends(TraceEvents& trace, const ends::Ends& all, const EndsClock& clock) {
  Drawing drawing(trace, all, clock);
  for (const ends::EndsCall& c : all.calls) drawing.call(c);
}

}  // namespace rpcrdma::timeline
