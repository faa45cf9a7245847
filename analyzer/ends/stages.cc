// The outer point is the nearest to the caller, the inner one the nearest to the responder. What
// passes between them on the way there and back is the difference of two durations, each by one
// clock, so no offset of clocks falsifies it. Only its division into both directions needs them.
//
// An acknowledgment proves by when a message had arrived at the receiver's adapter: what comes
// later is the receiver's time, not that of the network.
#include "stages.h"

#include <algorithm>

namespace rpcrdma::ends {

namespace {

// Time stamps of packets have the resolution of their file, often a microsecond, and events are
// stamped a little before or after what they describe.
constexpr std::int64_t kAccuracy = 20'000;
constexpr std::int64_t kDriftShare = 5000;  // 200 ppm

std::size_t at(Stage s) {
  return static_cast<std::size_t>(s);
}

std::int64_t accuracy(std::int64_t duration) {
  return kAccuracy + std::abs(duration) / kDriftShare;
}

void set(EndsCall& call, Stage stage, std::int64_t took) {
  call.took_ns[at(stage)] = std::max<std::int64_t>(took, 0);
}

void move_time(EndsCall& call, Stage from, Stage to, std::int64_t ns) {
  std::int64_t& source = call.took_ns[at(from)];
  ns = std::clamp<std::int64_t>(ns, 0, std::max<std::int64_t>(source, 0));
  if (ns == 0) return;
  source -= ns;
  std::int64_t& target = call.took_ns[at(to)];
  target = std::max<std::int64_t>(target, 0) + ns;
}

// The duration of a span that lies within another one; 0: there is none.
std::int64_t within(std::int64_t began, std::int64_t ended, std::int64_t from, std::int64_t until) {
  if (began == kNoTime || ended == kNoTime) return 0;
  began = std::max(began, from);
  ended = std::min(ended, until);
  return std::max<std::int64_t>(ended - began, 0);
}

// Before the Send and after the Reply, by the clock of the caller's end.
void divide_caller(const HalfCall& half, EndsCall& call) {
  if (half.called_ns != kNoTime && half.called_ns <= half.call_ns) {
    const std::int64_t before = half.call_ns - half.called_ns;
    std::int64_t rest = before;
    for (const auto& [stage, wait] :
         {std::pair(Stage::kSlot, half.slot_wait), std::pair(Stage::kCredit, half.credit_wait)}) {
      if (wait == kUnknownNs) continue;
      const std::int64_t took = std::min(wait, rest);
      set(call, stage, took);
      rest -= took;
    }
    set(call, Stage::kPost, rest);
  }
  if (half.ended_ns != kNoTime && half.ended_ns >= half.reply_ns) {
    set(call, Stage::kWake, half.ended_ns - half.reply_ns);
  }
}

// Between the Call's arrival and the Reply's Send, by the clock of the responder's end.
void divide_responder(const HalfCall& half, EndsCall& call) {
  const std::int64_t from = half.call_ns, until = half.reply_ns;
  const std::int64_t read = within(half.read_began_ns, half.read_ended_ns, from, until);
  const std::int64_t written = within(half.write_began_ns, until, from, until);
  set(call, Stage::kRead, read);
  set(call, Stage::kWrite, written);
  std::int64_t rest = until - from - read - written;
  if (half.delivered_ns != kNoTime && half.delivered_ns >= from && half.delivered_ns <= until) {
    const std::int64_t read_before =
        within(half.read_began_ns, half.read_ended_ns, from, half.delivered_ns);
    const std::int64_t decoding = std::clamp<std::int64_t>(half.delivered_ns - from - read_before,
                                                           0, std::max<std::int64_t>(rest, 0));
    set(call, Stage::kDecode, decoding);
    rest -= decoding;
  }
  set(call, Stage::kExecute, rest);
}

// What lies behind a capture: the network between it and the responder, and the responder. The
// acknowledgment of the Call shows how long the former takes.
void divide_behind(const HalfCall& half, EndsCall& call) {
  const std::int64_t from = half.call_ns, until = half.reply_first_ns;
  const std::int64_t read = within(half.read_began_ns, half.read_ended_ns, from, until);
  const std::int64_t written = within(half.write_began_ns, half.write_ended_ns, from, until);
  set(call, Stage::kRead, read);
  set(call, Stage::kWrite, written);
  const std::int64_t rest = std::max<std::int64_t>(until - from - read - written, 0);
  if (half.acknowledged_after == kUnknownNs) {
    call.unknown_ns += rest;
    return;
  }
  const std::int64_t network = std::min(half.acknowledged_after, rest);
  call.took_ns[at(Stage::kNetworkThere)] += network / 2;
  call.took_ns[at(Stage::kNetworkBack)] += network - network / 2;
  if (call.bound_ns != kUnknownNs) call.bound_ns += network / 2;
  set(call, Stage::kExecute, rest - network);
}

// Messages had arrived when they were acknowledged.
void use_acknowledgments(const std::vector<Seen>& seen, const Clocks& clocks, std::int64_t arrived,
                         std::int64_t replied, EndsCall& call) {
  const Seen& inner = seen.back();
  const Seen& outer = seen.front();
  if (call.bound_ns == kUnknownNs) return;
  for (const Seen& s : seen) {
    if (s.kind != PointKind::kWire || &s == &inner) continue;
    if (s.half->acknowledged_after == kUnknownNs || inner.kind == PointKind::kWire) continue;
    const auto passed = clocks.map(s.source, s.half->call_ns);
    const auto bound = clocks.bound(s.source, s.half->call_ns);
    if (!passed || !bound) continue;
    const std::int64_t latest = *passed + s.half->acknowledged_after + *bound + call.bound_ns;
    move_time(call, Stage::kNetworkThere, Stage::kDecode, arrived - latest);
  }
  // The responder's Send of the Reply has completed when the caller's adapter acknowledged it. The
  // kernel's BPF events have no time of its completion, and state that of the Send.
  if (inner.kind != PointKind::kServer || outer.kind != PointKind::kClient) return;
  if (inner.half->ended_ns == kNoTime || inner.half->ended_ns <= inner.half->reply_ns) return;
  const auto completed = clocks.map(inner.source, inner.half->ended_ns);
  if (!completed) return;
  move_time(call, Stage::kNetworkBack, Stage::kWake, replied - (*completed + call.bound_ns));
}

// Where each stage begins, from its predecessors.
void place_stages(std::int64_t begin, EndsCall& call) {
  std::int64_t now = begin;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (i == at(Stage::kExecute)) now += call.unknown_ns;
    if (call.took_ns[i] == kUnknownNs) continue;
    call.began_ns[i] = now;
    now += call.took_ns[i];
  }
}

}  // namespace

Divided divide(const std::vector<Seen>& seen, const Clocks& clocks, EndsCall& call) {
  call.began_ns.fill(kUnknownNs);
  call.took_ns.fill(kUnknownNs);
  for (const Seen& s : seen) call.seen_by |= s.source < 32 ? 1U << s.source : 0U;
  const Seen& outer = seen.front();
  const Seen& inner = seen.back();
  const HalfCall& x = *outer.half;
  const HalfCall& y = *inner.half;
  const bool wire_outside = outer.kind == PointKind::kWire;
  const bool wire_inside = inner.kind == PointKind::kWire;

  const auto first = clocks.map(outer.source, wire_outside ? x.call_first_ns : x.call_ns);
  const auto shown = clocks.map(outer.source, moment_of(x));
  call.begin_ns = first ? *first : shown.value_or(0);
  call.end_ns = call.begin_ns;
  if (seen.size() < 2) return Divided::kSeenOnce;
  for (const Seen& s : seen) {
    if (s.half->unclear) return Divided::kLost;
  }
  if (x.call_ns == kNoTime || y.call_ns == kNoTime) return Divided::kLost;
  if (x.reply_ns == kNoTime || y.reply_ns == kNoTime) return Divided::kUnanswered;

  const std::int64_t reply_inside = wire_inside ? y.reply_first_ns : y.reply_ns;
  const auto last = clocks.map(outer.source, x.reply_ns);
  const auto arrived = clocks.map(inner.source, y.call_ns);
  const auto answered = clocks.map(inner.source, reply_inside);
  if (!first || !last || !arrived || !answered) return Divided::kJumped;

  const std::int64_t inside = reply_inside - y.call_ns;
  const std::int64_t outside = x.reply_ns - (wire_outside ? x.call_first_ns : x.call_ns);
  if (inside < 0 || outside < 0) return Divided::kDisordered;
  const auto bound_there = clocks.bound(inner.source, y.call_ns);
  const auto bound_back = clocks.bound(inner.source, reply_inside);
  const auto bound_outside = clocks.bound(outer.source, x.call_ns);
  if (bound_there && bound_back && bound_outside) {
    call.bound_ns = std::max(*bound_there, *bound_back) + *bound_outside;
  }
  const std::int64_t margin = accuracy(outside) + 2 * std::max<std::int64_t>(call.bound_ns, 0);
  if (std::abs((*answered - *arrived) - inside) > margin) return Divided::kJumped;
  if (std::abs((*last - *first) - outside) > margin) return Divided::kJumped;
  const std::int64_t network = outside - inside;
  if (network < -accuracy(outside)) return Divided::kDisordered;
  const std::int64_t measured = *arrived - *first;
  if (call.bound_ns != kUnknownNs &&
      (measured < -margin || measured > std::max<std::int64_t>(network, 0) + margin)) {
    return Divided::kDisordered;
  }
  const std::int64_t there =
      std::clamp<std::int64_t>(measured, 0, std::max<std::int64_t>(network, 0));
  set(call, Stage::kNetworkThere, there);
  set(call, Stage::kNetworkBack, network - there);

  if (!wire_outside) divide_caller(x, call);
  wire_inside ? divide_behind(y, call) : divide_responder(y, call);
  use_acknowledgments(seen, clocks, *arrived, *last, call);
  if (!wire_inside) {
    // Data of RDMA Writes were on their way after the responder had posted them.
    for (const Seen& s : seen) {
      if (s.kind != PointKind::kWire || s.half->write_began_ns == kNoTime) continue;
      move_time(call, Stage::kNetworkBack, Stage::kWrite,
                s.half->write_ended_ns - s.half->write_began_ns);
      break;
    }
  }
  std::int64_t before = 0;
  for (const Stage s : {Stage::kSlot, Stage::kCredit, Stage::kPost}) {
    before += std::max<std::int64_t>(call.took_ns[at(s)], 0);
  }
  call.begin_ns = *first - before;
  call.end_ns = call.begin_ns + call.unknown_ns;
  for (const std::int64_t took : call.took_ns) call.end_ns += std::max<std::int64_t>(took, 0);
  place_stages(call.begin_ns, call);
  return Divided::kYes;
}

Side side_of_credit(const std::vector<Seen>& seen) {
  std::uint32_t requested = 0, granted = 0;
  for (const Seen& s : seen) {
    if (requested == 0) requested = s.half->requested;
    if (granted == 0) granted = s.half->granted;
  }
  if (requested == 0 || granted == 0) return Side::kInconclusive;
  return granted < requested ? Side::kServer : Side::kClient;
}

void blame(EndsCall& call, std::int64_t slow_ns, Side credit) {
  call.side = Side::kNone;
  const std::int64_t all = call.end_ns - call.begin_ns;
  if (all < slow_ns) return;
  std::array<std::int64_t, 5> sides{};
  const auto side_of_stage = [&](std::size_t i) {
    const auto stage = static_cast<Stage>(i);
    const Side side = stage == Stage::kCredit ? credit : side_of(stage);
    if (!call.reverse) return side;
    return side == Side::kClient ? Side::kServer : side == Side::kServer ? Side::kClient : side;
  };
  for (std::size_t i = 0; i < kStages; ++i) {
    sides[static_cast<std::size_t>(side_of_stage(i))] += std::max<std::int64_t>(call.took_ns[i], 0);
  }
  const auto most = std::max_element(sides.begin(), sides.end());
  // Half of the time and more: nothing unknown can outweigh it.
  if (*most < all - *most) {
    call.side = Side::kInconclusive;
    return;
  }
  call.side = static_cast<Side>(most - sides.begin());
  if (call.side == Side::kNone) call.side = Side::kInconclusive;
  std::int64_t longest = -1;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (side_of_stage(i) != call.side || call.took_ns[i] <= longest) continue;
    longest = call.took_ns[i];
    call.stage = static_cast<Stage>(i);
  }
}

}  // namespace rpcrdma::ends
