#include "trust.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rpcrdma/capture/unread.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::report {

namespace {

void add(rules::Trust::Gap& gap, std::uint64_t amount, std::uint32_t connection) {
  if (amount == 0) return;
  gap.amount += amount;
  ++gap.connections;
  if (gap.connection.size() < rules::Trust::kNamed) gap.connection.push_back(connection);
}

rules::Trust gaps_of(const Report& r) {
  rules::Trust gaps;
  for (const Connection& c : r.connections) {
    if (c.speaks != model::Speaks::kRpc) continue;
    std::uint64_t lost = 0;
    for (const EndPoint& e : c.side) lost += e.counters.lost_capture + e.counters.reads_unseen;
    const bool one_sided =
        !c.recorded && (c.side[0].counters.packets == 0) != (c.side[1].counters.packets == 0);
    add(gaps.lost, lost, c.id);
    add(gaps.cut_short, c.cut_short, c.id);
    add(gaps.one_sided, one_sided ? 1 : 0, c.id);
    add(gaps.clock_steps_back, c.clock_stepped_back ? 1 : 0, c.id);
    add(gaps.begun_before, c.by_cm ? 0 : 1, c.id);
    add(gaps.events_lost, c.events_lost != 0 ? 1 : 0, c.id);
    add(gaps.operations_unseen, c.operations_unseen ? 1 : 0, c.id);
  }
  return gaps;
}

// Acknowledgements and RDMA operations that stand before what they are for.
rules::Trust::Gap order_of(const Report& r) {
  rules::Trust::Gap early;
  for (const Connection& c : r.connections) {
    if (c.speaks != model::Speaks::kRpc) continue;
    add(early, c.side[0].counters.acknowledged_unseen + c.side[1].counters.acknowledged_unseen,
        c.id);
  }
  return early;
}

rules::Trust::Gap joined_of(const Report& r) {
  rules::Trust::Gap joined;
  for (const Connection& c : r.connections) {
    if (c.speaks == model::Speaks::kRpc) add(joined, c.joined, c.id);
  }
  return joined;
}

IcrcSeen icrc_of(const roce::PacketStats& p) {
  if (p.icrc_bad != 0) return p.icrc_good == 0 ? IcrcSeen::kAllWrong : IcrcSeen::kSomeWrong;
  if (p.icrc_good != 0) return IcrcSeen::kGood;
  return p.icrc_unchecked != 0 ? IcrcSeen::kUnchecked : IcrcSeen::kNone;
}

// A report that is read may have any number of them.
template <typename T>
void add_once(std::vector<T>& list, const T& value) {
  if (list.size() == kMaxInconclusive) return;
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::vector<InconclusiveGroup> inconclusive_of(const Report& r) {
  std::map<std::string_view, InconclusiveGroup> groups;
  for (const Inconclusive& w : r.inconclusive) {
    InconclusiveGroup& g = groups[w.reason];
    g.reason = w.reason;
    g.count += w.count;
    add_once<std::string_view>(g.rules, w.rule);
    add_once(g.connections, w.connection);
  }
  std::vector<InconclusiveGroup> list;
  for (auto& [reason, group] : groups) list.push_back(std::move(group));
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return list;
}

std::string packets(std::uint64_t n) {
  return fmt::format("{} packet{}", n, n == 1 ? "" : "s");
}

// "FC-01, FC-02 and 3 more"
template <typename T>
std::string first_of(const std::vector<T>& all) {
  constexpr std::size_t kNamed = 8;
  const std::size_t shown = std::min(all.size(), kNamed);
  return fmt::format("{}{}",
                     fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown == all.size() ? "" : fmt::format(" and {} more", all.size() - shown));
}

}  // namespace

const char* icrc_seen_name(IcrcSeen seen) {
  switch (seen) {
    case IcrcSeen::kNone:
      return "none";
    case IcrcSeen::kGood:
      return "good";
    case IcrcSeen::kSomeWrong:
      return "some wrong";
    case IcrcSeen::kAllWrong:
      return "all wrong";
    case IcrcSeen::kUnchecked:
      return "unchecked";
  }
  return "none";
}

std::string unread_text(const CaptureSummary& c) {
  if (!c.unread.empty()) return capture::unread_text(c.unread);
  // A report of an older version has no names.
  if (c.unknown_link == 0) return {};
  return capture::unread_text({{"a link type that is not known here", c.unknown_link}});
}

ReportTrust trust_of(const Report& r) {
  const CaptureSummary& c = r.capture;
  ReportTrust t;
  t.gaps = gaps_of(r);
  t.joined = joined_of(r);
  t.icrc = icrc_of(c.packets);
  t.damaged = c.file_cut_short || !c.damage.empty();
  t.inconclusive = inconclusive_of(r);
  t.complete = t.gaps.complete() && !t.damaged && c.dropped == 0 && c.cut_short == 0 &&
               c.unread.empty() && c.unknown_link == 0 && order_of(r).amount == 0 &&
               c.packets.icrc_unchecked == 0 && c.packets.lost_capture == 0 &&
               c.packets.coalesced == 0 && r.unlisted.connections == 0 &&
               r.recording.events.lost == 0 && r.recording.events.missing == 0 &&
               r.recording.events.malformed == 0 && r.recording.events.open_ends == 0 &&
               r.recording.events.left_out == 0;
  return t;
}

std::vector<TrustLine> trust_lines(const Report& r) {
  const ReportTrust t = trust_of(r);
  const CaptureSummary& c = r.capture;
  const roce::PacketStats& p = c.packets;
  std::vector<TrustLine> lines;
  const auto add = [&](const char* name, std::string text) {
    lines.push_back({name, std::move(text)});
  };
  if (!c.damage.empty()) {
    add("damaged", c.damage);
  } else if (c.file_cut_short) {
    add("damaged", "a file ends within a record");
  }
  if (const std::string unread = unread_text(c); !unread.empty()) {
    add("not read", fmt::format("{}: not looked at", unread));
  }
  if (c.dropped != 0) {
    const bool events = p.roce == 0 && r.recording.any();
    add("dropped",
        fmt::format("{} while capturing, by what the file says",
                    events ? fmt::format("{} event{}", c.dropped, c.dropped == 1 ? "" : "s")
                           : packets(c.dropped)));
  }
  if (p.coalesced != 0) {
    add("glued",
        fmt::format("{}, put together by segmentation offload before the capture point: "
                    "what is in {} is not looked at",
                    rules::coalesced_packets(p.coalesced), p.coalesced == 1 ? "it" : "them"));
  }
  if (t.gaps.lost.amount != 0) {
    add("lost", fmt::format("{} by the capture, not the network: {}", packets(t.gaps.lost.amount),
                            where(t.gaps.lost)));
  } else if (p.lost_capture != 0) {
    add("lost", fmt::format("{} by the capture, not the network: of what is no RPC-over-RDMA",
                            packets(p.lost_capture)));
  }
  if (const auto early = order_of(r); early.amount != 0) {
    add("order",
        fmt::format(
            "{} what was not there yet: it is missing, or the directions are out of order: "
            "{}",
            early.amount == 1
                ? std::string("1 acknowledgement or RDMA operation is for")
                : fmt::format("{} acknowledgements or RDMA operations are for", early.amount),
            where(early)));
  }
  if (p.captured_twice != 0) {
    add("twice", fmt::format("{} captured at a second point too: times are those of the first",
                             packets(p.captured_twice)));
  }
  if (const auto& e = r.recording.events; e.lost + e.missing != 0) {
    const std::string of = t.gaps.events_lost.amount != 0
                               ? fmt::format(": {}", where(t.gaps.events_lost))
                               : std::string();
    add("events", fmt::format("{} of {} that endpoints had to tell are not in the recording{}",
                              e.lost + e.missing, e.emitted, of));
  }
  if (const std::uint64_t n = r.recording.events.open_ends; n != 0) {
    add("open end",
        fmt::format("{}: up to a second before the end may be missing",
                    n == 1 ? std::string("the recording ends without its closing sums")
                           : fmt::format("the recordings of {} endpoints end without their closing "
                                         "sums",
                                         n)));
  }
  if (const std::uint64_t n = r.recording.events.malformed; n != 0) {
    add("damaged", fmt::format("{} event{} of the recording cannot be read; what may rest on {} is "
                               "withheld",
                               n, n == 1 ? "" : "s", n == 1 ? "it" : "them"));
  }
  const std::string left_out = trace_reader::type_names(r.recording.events.left_out);
  if (!left_out.empty()) {
    add("left out", fmt::format("events of types that were not wanted in the recording: {}; that "
                                "there are none tells nothing",
                                left_out));
  }
  if (t.gaps.operations_unseen.amount != 0) {
    add("operations",
        left_out.empty()
            ? fmt::format("RDMA Reads and Writes of the peer are not told: {}; its endpoint's "
                          "device does not show them",
                          where(t.gaps.operations_unseen))
            : fmt::format("RDMA Reads and Writes are not told, or not all: {}",
                          where(t.gaps.operations_unseen)));
  }
  if (r.unlisted.connections != 0) {
    add("summed up",
        fmt::format("{} connections that are not listed: more than {} are not followed "
                    "at once",
                    r.unlisted.connections, roce::kMaxConnections));
  }
  if (const std::uint64_t n = c.cut_short + p.icrc_unchecked; n != 0) {
    std::string messages;
    if (t.gaps.cut_short.amount != 0) {
      messages = fmt::format(", {} message{} with them: {}", t.gaps.cut_short.amount,
                             t.gaps.cut_short.amount == 1 ? "" : "s", where(t.gaps.cut_short));
    }
    add("cut short", packets(n) + messages);
  } else if (t.gaps.cut_short.amount != 0) {
    add("cut short", fmt::format("{} message{}: {}", t.gaps.cut_short.amount,
                                 t.gaps.cut_short.amount == 1 ? "" : "s", where(t.gaps.cut_short)));
  }
  if (t.gaps.one_sided.amount != 0) {
    add("one way", fmt::format("packets of one direction only: {}", where(t.gaps.one_sided)));
  }
  if (t.gaps.clock_steps_back.amount != 0) {
    add("clock", fmt::format("steps back: {}; latencies and orders there are doubtful",
                             where(t.gaps.clock_steps_back)));
  } else if (c.clock_steps_back != 0) {
    add("clock", fmt::format("{} frame{} earlier than the one before", c.clock_steps_back,
                             c.clock_steps_back == 1 ? " is" : "s are"));
  }
  switch (t.icrc) {
    case IcrcSeen::kSomeWrong:
      add("ICRC",
          fmt::format("{} of {} packets wrong: {}", p.icrc_bad, p.icrc_bad + p.icrc_good,
                      p.coalesced == 0 ? "damaged" : "damaged, or short ones put together"));
      break;
    case IcrcSeen::kAllWrong:
      add("ICRC",
          fmt::format("not visible: wrong in all {} packets, so the capture point sees them "
                      "before it is made, or rewrites them; damage would not show",
                      p.icrc_bad));
      break;
    case IcrcSeen::kUnchecked:
      add("ICRC", "not visible: all packets are cut short; damage would not show");
      break;
    case IcrcSeen::kNone:
    case IcrcSeen::kGood:
      break;
  }
  if (t.gaps.begun_before.amount != 0) {
    add("began", fmt::format("before the capture: {}; credits, thresholds and handles from there "
                             "are not known",
                             where(t.gaps.begun_before)));
  }
  if (t.joined.amount != 0) {
    add("joined",
        fmt::format(
            "{}: from more than one report. What rests on all of a connection, such as "
            "CREDIT-STARVED, SLOW-PEER, CONN-LOST or RECONNECT, was looked for in each part "
            "alone, and may be missing",
            where(t.joined)));
  }
  if (r.reconnects.unsought) {
    add("unsought",
        "not every Call that may have been sent again on a connection of a later report was "
        "compared, so RECONNECT, ANSWERED-TWICE and FC-08 may be missing: a report has the first "
        "Calls of some connections, and one of an older version has none");
  }
  for (const InconclusiveGroup& g : t.inconclusive) {
    add("withheld",
        fmt::format("{} judgement{} ({}) on connection{} {}, since {}", g.count,
                    g.count == 1 ? "" : "s", first_of(g.rules),
                    g.connections.size() == 1 ? "" : "s", first_of(g.connections), g.reason));
  }
  return lines;
}

}  // namespace rpcrdma::report
