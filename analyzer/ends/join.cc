// Joins the halves of Calls: connections first, then clocks, by Calls whose XID is unique, then all
// Calls, by XID and aligned time. XIDs repeat.
#include "clocks.h"
#include "contradictions.h"
#include "match.h"
#include "offset_limits.h"
#include "stages.h"
#include "sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::ends {

namespace {

// seen_by is a set of 32.
constexpr std::size_t kMostSources = 32;
// Halves of one Call are not further apart, apart from the time that it takes.
constexpr std::int64_t kApart = 1'000'000'000;
// Near the begin or the end of a recording one half may be missing.
constexpr std::int64_t kEdge = 1'000'000;

std::string file_list(std::span<const SourceHalves> sources, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < sources.size(); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", sources[i].file);
  }
  return text;
}

class Joining {
 public:
  Joining(std::span<const SourceHalves> sources, std::vector<Group>& groups,
          const EndsOptions& options, Ends& to)
      : sources_(sources),
        groups_(groups),
        options_(options),
        to_(to),
        clocks_(sources, groups),
        contradictions_(sources) {}

  void run() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      describe(groups_[g]);
      shown_.clear();
      for (const Group::Member& m : groups_[g].members) shown_.push_back(shown(m));
      join_calls(g);
    }
    finish();
  }

 private:
  struct Entry {
    std::uint32_t member = 0;
    std::uint32_t call = 0;
    std::optional<std::int64_t> time;  // by the clock of the reference
  };

  const SourceHalves& source(const Group::Member& m) const { return sources_[m.source]; }
  const HalfConnection& connection(const Group::Member& m) const {
    return source(m).connections[m.connection];
  }

  void describe(const Group& group) {
    EndsConnection c;
    std::array<capture::Address, 2> address;
    for (const Group::Member& m : group.members) {
      c.sources.push_back(m.source);
      c.kinds.push_back(connection(m).kind);
      const std::vector<ShownAs>& as = connection(m).shown_as;
      c.shown_as.insert(c.shown_as.end(), as.begin(), as.end());
      for (std::size_t side = 0; side < 2; ++side) {
        if (address.at(side).kind == capture::AddressKind::kNone) {
          address.at(side) = connection(m).address.at(side);
        }
      }
    }
    const Group::Member& first = *std::min_element(
        group.members.begin(), group.members.end(),
        [](const Group::Member& a, const Group::Member& b) { return a.source < b.source; });
    c.first_source = first.source;
    c.connection = connection(first).id;
    c.client = address[0].to_string();
    c.server = address[1].to_string();
    to_.connections.push_back(std::move(c));
  }

  Shown shown(const Group::Member& m) const {
    Shown s;
    for (const std::uint32_t call : m.calls) {
      const HalfCall& half = source(m).calls[call];
      for (const std::int64_t ns : {half.call_ns, half.reply_ns}) {
        const auto mapped = clocks_.map(m.source, ns);
        if (!mapped) continue;
        s.first_ns = std::min(s.first_ns, *mapped);
        s.last_ns = std::max(s.last_ns, *mapped);
      }
    }
    s.complete = source(m).lost == 0 && source(m).not_kept == 0 && clocks_.of(m.source).jumps == 0;
    return s;
  }

  // All halves of one XID at a time.
  void join_calls(std::uint32_t g) {
    const Group& group = groups_[g];
    std::vector<std::size_t> at(group.members.size());
    std::vector<Entry> entries;
    for (;;) {
      std::optional<std::uint32_t> xid;
      for (std::size_t m = 0; m < group.members.size(); ++m) {
        const Group::Member& member = group.members[m];
        if (at[m] == member.calls.size()) continue;
        const std::uint32_t next = source(member).calls[member.calls[at[m]]].xid;
        if (!xid || next < *xid) xid = next;
      }
      if (!xid) return;
      entries.clear();
      for (std::uint32_t m = 0; m < group.members.size(); ++m) {
        const Group::Member& member = group.members[m];
        for (; at[m] < member.calls.size(); ++at[m]) {
          const std::uint32_t call = member.calls[at[m]];
          const HalfCall& half = source(member).calls[call];
          if (half.xid != *xid) break;
          entries.push_back({m, call, clocks_.map(member.source, moment_of(half))});
        }
      }
      for (const bool reverse : {false, true}) join_entries(g, entries, reverse);
    }
  }

  const HalfCall& half_of(const Group& group, const Entry& e) const {
    return source(group.members[e.member]).calls[e.call];
  }

  // Neighbours in time, each of another source, are halves of one Call.
  void join_entries(std::uint32_t g, const std::vector<Entry>& entries, bool reverse) {
    const Group& group = groups_[g];
    std::vector<Entry> left;
    for (const Entry& e : entries) {
      if (half_of(group, e).reverse == reverse) left.push_back(e);
    }
    if (left.empty()) return;
    std::stable_sort(left.begin(), left.end(), [](const Entry& a, const Entry& b) {
      return a.time.value_or(INT64_MAX) < b.time.value_or(INT64_MAX);
    });
    std::vector<Entry> now;
    std::int64_t until = 0;
    const auto flush = [&] {
      if (!now.empty()) joined(g, now, reverse);
      now.clear();
    };
    for (const Entry& e : left) {
      const bool again =
          std::any_of(now.begin(), now.end(), [&](const Entry& x) { return x.member == e.member; });
      // Without a time, as where a clock jumped, the XID alone joins them.
      const bool apart = !now.empty() && e.time && now.front().time && *e.time > until + kApart;
      if (again || apart) flush();
      now.push_back(e);
      if (!e.time) continue;
      const HalfCall& half = half_of(group, e);
      const std::int64_t end =
          half.reply_ns != kNoTime && half.call_ns != kNoTime
              ? *e.time + std::max<std::int64_t>(half.reply_ns - half.call_ns, 0)
              : *e.time;
      until = now.size() == 1 ? end : std::max(until, end);
    }
    flush();
  }

  // Entries of one Call, at most one of each member.
  void joined(std::uint32_t g, std::vector<Entry>& entries, bool reverse) {
    const Group& group = groups_[g];
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      return reverse ? b.member < a.member : a.member < b.member;
    });
    std::vector<Seen> seen;
    for (const Entry& e : entries) {
      const Group::Member& m = group.members[e.member];
      PointKind kind = connection(m).kind;
      if (reverse && kind != PointKind::kWire) {
        kind = kind == PointKind::kClient ? PointKind::kServer : PointKind::kClient;
      }
      seen.push_back({&half_of(group, e), m.source, kind});
    }
    EndsCall call;
    call.connection = g;
    call.reverse = reverse;
    name(seen, call);
    ++to_.calls_total;
    const Divided divided = divide(seen, clocks_, call);
    if (seen.size() < 2) {
      ++to_.seen_once;
      note_missing(g, seen, entries.front());
    } else {
      for (const Seen& s : seen) ++to_.sources[s.source].joined;
      call.contradictory = contradictions_.compare(g, seen, at_edge(g, entries));
      if (divided == Divided::kDisordered) {
        call.contradictory = true;
        contradictions_.disordered(g, seen);
      }
      if (divided == Divided::kYes && !call.contradictory) {
        blame(call, slow_limit(options_, call.name), side_of_credit(seen));
        note_round_trip(seen, call);
        judged_.push_back(call);
      } else {
        ++to_.withheld;
        ++reasons_[divided == Divided::kYes ? Divided::kDisordered : divided];
      }
    }
    if (options_.keep_calls) to_.calls.push_back(std::move(call));
  }

  // Whether one of its sources may have begun or ended while the Call was in flight.
  bool at_edge(std::uint32_t g, const std::vector<Entry>& entries) const {
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Entry& e : entries) {
      const HalfCall& half = half_of(groups_[g], e);
      for (const std::int64_t ns : {half.call_ns, half.reply_ns}) {
        const auto mapped = clocks_.map(groups_[g].members[e.member].source, ns);
        if (!mapped) continue;
        first = std::min(first, *mapped);
        last = std::max(last, *mapped);
      }
    }
    return first > last || std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
             const Shown& s = shown_[e.member];
             return saturating_subtract(first, kEdge) <= s.first_ns ||
                    saturating_add(last, kEdge) >= s.last_ns;
           });
  }

  void name(const std::vector<Seen>& seen, EndsCall& call) const {
    call.xid = seen.front().half->xid;
    const Seen* best = nullptr;
    for (const Seen& s : seen) {
      if (!s.half->named) continue;
      if (best == nullptr || (s.half->operation_named && !best->half->operation_named)) best = &s;
    }
    if (best == nullptr) {
      call.name = "unknown procedure";
      return;
    }
    call.program = best->half->program;
    call.version = best->half->version;
    call.procedure = best->half->procedure;
    const std::vector<std::string>& names = sources_[best->source].names;
    if (best->half->name < names.size()) call.name = names[best->half->name];
    if (call.name.empty()) {
      call.name =
          fmt::format("program {} v{} procedure {}", call.program, call.version, call.procedure);
    }
  }

  void note_round_trip(const std::vector<Seen>& seen, const EndsCall& call) {
    if (seen.front().kind != PointKind::kClient || seen.back().kind != PointKind::kServer) return;
    const HalfCall& x = *seen.front().half;
    const HalfCall& y = *seen.back().half;
    const std::int64_t trip = (x.reply_ns - x.call_ns) - (y.reply_ns - y.call_ns);
    if (trip <= 0) return;
    std::uint64_t& least = to_.connections[call.connection].smallest_round_trip_ns;
    if (least == 0 || static_cast<std::uint64_t>(trip) < least) {
      least = static_cast<std::uint64_t>(trip);
    }
  }

  // A Call that a source with nothing lost misses, although it shows the connection at that time.
  void note_missing(std::uint32_t g, const std::vector<Seen>& seen, const Entry& entry) {
    const HalfCall& half = *seen.front().half;
    bool outside = !entry.time;
    for (std::uint32_t m = 0; m < groups_[g].members.size() && !outside; ++m) {
      if (m == entry.member) continue;
      const Shown& s = shown_[m];
      const std::int64_t from = *entry.time;
      const std::int64_t span = half.call_ns != kNoTime && half.reply_ns != kNoTime
                                    ? std::max<std::int64_t>(half.reply_ns - half.call_ns, 0)
                                    : 0;
      outside = from - kEdge <= s.first_ns || from + span + kEdge >= s.last_ns;
      if (outside) break;
      const bool whole = half.call_ns != kNoTime && half.reply_ns != kNoTime && !half.unclear;
      if (!whole || !s.complete || !shown_[entry.member].complete || half.attempts > 1) continue;
      const Group::Member& member = groups_[g].members[m];
      contradictions_.missing(g, seen, {nullptr, member.source, connection(member).kind});
    }
    outside_ += outside ? 1 : 0;
  }

  void finish() {
    for (std::uint32_t s = 0; s < sources_.size(); ++s) {
      to_.sources[s].reference = s == clocks_.reference() && to_.sources[s].joined != 0;
      to_.sources[s].clock = clocks_.of(s);
      const std::uint64_t jumps = clocks_.of(s).jumps;
      if (jumps != 0) {
        to_.notes.push_back(
            fmt::format("A clock jumped {} between {} and {}: Calls around it are not judged.",
                        jumps == 1 ? "once" : fmt::format("{} times", jumps),
                        sources_[clocks_.reference()].file, sources_[s].file));
      }
      if (clocks_.of(s).contradictions != 0) {
        to_.notes.push_back(fmt::format(
            "{} messages between {} and {} arrived before they were sent, by any clock.",
            clocks_.of(s).contradictions, sources_[clocks_.reference()].file, sources_[s].file));
      }
      if (to_.sources[s].joined != 0 && s != clocks_.reference() &&
          !clocks_.of(s).worst_bound_ns()) {
        to_.notes.push_back(
            fmt::format("The clock of {} has no bound: messages of only one direction were seen.",
                        sources_[s].file));
      }
    }
    to_.contradictions = contradictions_.take();
    add_sums(judged_, options_, to_);
    add_verdict(judged_, options_, to_);
    note_reasons();
    const auto by_begin = [](const EndsCall& a, const EndsCall& b) {
      return a.begin_ns < b.begin_ns;
    };
    std::stable_sort(to_.calls.begin(), to_.calls.end(), by_begin);
  }

  void note_reasons() {
    const auto say = [&](Divided reason, const char* text) {
      const auto it = reasons_.find(reason);
      if (it == reasons_.end()) return;
      to_.notes.push_back(fmt::format("{} Call{} not judged: {}.", it->second,
                                      it->second == 1 ? " is" : "s are", text));
    };
    say(Divided::kLost, "a source lost events or packets meanwhile");
    say(Divided::kJumped, "a clock jumped, or nothing aligns the clocks at that time");
    say(Divided::kUnanswered, "a source shows no Reply");
    say(Divided::kDisordered, "the sources contradict each other about them");
    if (outside_ != 0) {
      to_.notes.push_back(fmt::format(
          "{} Call{} outside the time that all sources show: only the common time is judged.",
          outside_, outside_ == 1 ? " lies" : "s lie"));
    }
    bool client = false, server = false;
    for (const EndsConnection& c : to_.connections) {
      client |= std::count(c.kinds.begin(), c.kinds.end(), PointKind::kClient) != 0;
      server |= std::count(c.kinds.begin(), c.kinds.end(), PointKind::kServer) != 0;
    }
    if (!client) {
      to_.notes.emplace_back(
          "No client was recorded: its own time, and the network before the first capture, are not "
          "seen.");
    }
    if (!server) {
      to_.notes.emplace_back(
          "No server was recorded: its time is what lies behind the capture, less the "
          "acknowledgment of the Call where one was seen.");
    }
  }

  std::span<const SourceHalves> sources_;
  const std::vector<Group>& groups_;
  const EndsOptions& options_;
  Ends& to_;
  Clocks clocks_;
  Contradictions contradictions_;
  std::vector<Shown> shown_;  // by member of the group at hand
  std::vector<EndsCall> judged_;
  std::map<Divided, std::uint64_t> reasons_;
  std::uint64_t outside_ = 0;
};

// What a source states is not believed: indices are checked, and times outside the range in which
// their differences cannot overflow count as not seen.
void sanitize(SourceHalves& source) {
  constexpr std::int64_t kLatestJoined = std::int64_t{1} << 62U;
  const auto time = [](std::int64_t& ns) {
    if (ns < 0 || ns >= kLatestJoined) ns = kNoTime;
  };
  const auto duration = [](std::int64_t& ns) {
    if (ns < 0 || ns >= kLatestJoined) ns = kUnknownNs;
  };
  std::erase_if(source.calls,
                [&](const HalfCall& c) { return c.connection >= source.connections.size(); });
  for (HalfCall& c : source.calls) {
    for (std::int64_t* ns : {&c.called_ns, &c.call_first_ns, &c.call_ns, &c.delivered_ns,
                             &c.read_began_ns, &c.read_ended_ns, &c.write_began_ns,
                             &c.write_ended_ns, &c.reply_first_ns, &c.reply_ns, &c.ended_ns}) {
      time(*ns);
    }
    for (std::int64_t* ns : {&c.acknowledged_after, &c.slot_wait, &c.credit_wait}) duration(*ns);
    if (c.call_first_ns == kNoTime) c.call_first_ns = c.call_ns;
    if (c.reply_first_ns == kNoTime) c.reply_first_ns = c.reply_ns;
  }
  std::erase_if(source.calls, [](const HalfCall& c) { return moment_of(c) == kNoTime; });
}

}  // namespace

Ends join(std::vector<SourceHalves> sources, const EndsOptions& options) {
  Ends ends;
  if (sources.size() > kMostSources) {
    ends.notes.push_back(fmt::format("At most {} sources are joined; left out: {}.", kMostSources,
                                     file_list(sources, kMostSources)));
    sources.resize(kMostSources);
  }
  for (SourceHalves& s : sources) {
    sanitize(s);
    collapse_superseded(s);
    Source named;
    named.file = s.file;
    named.files = s.files;
    named.lost = s.lost;
    named.calls = s.calls.size();
    ends.not_kept += s.not_kept;
    ends.sources.push_back(std::move(named));
  }
  if (ends.not_kept != 0) {
    ends.notes.push_back(
        fmt::format("{} halves of Calls are beyond the limit of {} and were not joined.",
                    ends.not_kept, options.most_calls));
  }
  if (sources.size() < 2) {
    ends.notes.emplace_back("One source alone has no other to be joined with.");
  }
  std::vector<Group> groups = shared_connections(sources, ends.notes);
  Joining(sources, groups, options, ends).run();
  return ends;
}

}  // namespace rpcrdma::ends
