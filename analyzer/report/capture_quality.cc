// Derives the capture quality from a report's counts, and writes the lines of that section.
#include "capture_quality.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rpcrdma/capture/unread.h>
#include <rpcrdma/trace_reader/event_decoder.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::report {

namespace {

void add(rules::CaptureGaps::Gap& gap, std::uint64_t amount, std::uint32_t connection) {
  if (amount == 0) return;
  gap.amount += amount;
  ++gap.connections;
  if (gap.connection.size() < rules::CaptureGaps::kNamed) gap.connection.push_back(connection);
}

// Only the set-up of the connection was captured.
bool is_silent(const Connection& c) {
  return c.by_cm && !c.recorded && c.side[0].cm_seen && c.side[1].cm_seen &&
         c.state != roce::State::kRejected && c.side[0].counters.packets == 0 &&
         c.side[1].counters.packets == 0;
}

bool is_nfs_port(std::uint64_t service_id) {
  constexpr std::uint16_t kNfsRdmaPort = 20049;
  return wire::is_rdma_ip_service(service_id) && wire::service_port(service_id) == kNfsRdmaPort;
}

rules::CaptureGaps gaps_of(const Report& r) {
  rules::CaptureGaps gaps;
  // What was not decoded may be their data.
  const bool nothing_else = rules::only_set_ups(r.capture.packets) && r.capture.unread.empty() &&
                            r.capture.unknown_link == 0 && r.capture.cut_short == 0;
  for (const Connection& c : r.connections) {
    if (!is_silent(c) || (c.speaks != model::Speaks::kRpc && !is_nfs_port(c.service_id))) continue;
    const std::int64_t end = c.state == roce::State::kClosed ? c.last_ns : r.capture.last_ns;
    add(gaps.silent, nothing_else || end - c.first_ns >= rules::kSilentSetUpNs ? 1 : 0, c.id);
  }
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
    gaps.events_lost_in_kernel |= c.events_lost != 0 && roce::is_kernel(c.origin);
    const bool sums = c.origin == roce::Origin::kKernelSums;
    add(gaps.operations_unseen, c.operations_unseen && !sums ? 1 : 0, c.id);
  }
  return gaps;
}

// Counts acknowledgments and RDMA operations that precede the packet to which they refer.
rules::CaptureGaps::Gap order_of(const Report& r) {
  rules::CaptureGaps::Gap early;
  for (const Connection& c : r.connections) {
    if (c.speaks != model::Speaks::kRpc) continue;
    add(early, c.side[0].counters.acknowledged_unseen + c.side[1].counters.acknowledged_unseen,
        c.id);
  }
  return early;
}

rules::CaptureGaps::Gap joined_of(const Report& r) {
  rules::CaptureGaps::Gap joined;
  for (const Connection& c : r.connections) {
    if (c.speaks == model::Speaks::kRpc) add(joined, c.joined, c.id);
  }
  return joined;
}

rules::CaptureGaps::Gap not_sampled_of(const Report& r) {
  rules::CaptureGaps::Gap gap;
  for (const Connection& c : r.connections) {
    add(gap, c.lacks(roce::kAbsentMessages) ? 1 : 0, c.id);
  }
  return gap;
}

IcrcSeen icrc_of(const roce::PacketStats& p) {
  if (p.icrc_bad != 0) {
    if (p.icrc_good == 0) return IcrcSeen::kAllWrong;
    return rules::icrcs_accepted(p) ? IcrcSeen::kAccepted : IcrcSeen::kSomeWrong;
  }
  if (p.icrc_good != 0) return IcrcSeen::kGood;
  if (p.icrc_off != 0) return IcrcSeen::kOff;
  return p.icrc_unchecked != 0 ? IcrcSeen::kUnchecked : IcrcSeen::kNone;
}

// Bounded, because a report read from a file can have any number of entries.
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

// "1 packet", "2 packets"
std::string counted(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
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
    case IcrcSeen::kAccepted:
      return "accepted";
    case IcrcSeen::kOff:
      return "off";
    case IcrcSeen::kUnchecked:
      return "unchecked";
  }
  return "none";
}

std::string unread_text(const CaptureSummary& c) {
  if (!c.unread.empty()) return capture::unread_text(c.unread);
  // A report without names still has the number of frames.
  if (c.unknown_link == 0) return {};
  return capture::unread_text({{"an unknown link type", c.unknown_link}});
}

std::string snaplen_text(const CaptureSummary& c) {
  const roce::PacketStats& p = c.packets;
  const std::uint64_t cut = c.cut_short + p.icrc_unchecked;
  std::string text = fmt::format("{} of {} packets {} truncated to {} bytes", cut,
                                 c.cut_short + p.roce, cut == 1 ? "is" : "are", c.snaplen);
  const auto part = [&](std::uint64_t n, const char* what) {
    if (n != 0) text += fmt::format("; {} {}", n, what);
  };
  part(c.cut_short, "without a whole BTH");
  part(p.headers_cut, "without all transport headers");
  part(p.cm_cut, p.cm_cut == 1 ? "is a CM message, not decoded" : "are CM messages, not decoded");
  return text;
}

const char* events_of(roce::Origin origin) {
  switch (origin) {
    case roce::Origin::kKernelBpf:
      return "events of kernel BPF";
    case roce::Origin::kKernelSums:
      return "kernel sums";
    default:
      return "events of kernel tracepoints";
  }
}

// "header bytes, private data and NFS arguments"
std::string absent_text(const SourceLimits& limits) {
  std::vector<const char*> list;
  const auto item = [&](std::uint64_t bits, const char* text) {
    if ((limits.absent & bits) != 0) list.push_back(text);
  };
  item(roce::kAbsentBytes, "header bytes");
  item(roce::kAbsentBytes, "NFS arguments and results");
  if (limits.origin == roce::Origin::kKernelTracepoints) list.push_back("QP numbers");
  item(roce::kAbsentSetup, "private data");
  item(roce::kAbsentRequests, "requested credits");
  item(roce::kAbsentGrants, "granted credits");
  item(roce::kAbsentLengths, "some lengths of Sends");
  item(roce::kAbsentChunks, "some chunk lists");
  item(roce::kAbsentInvalidation, "some invalidations");
  item(roce::kAbsentRefusals, "NAKs");
  item(roce::kAbsentRefusals, "retransmissions");
  if (list.empty()) return "all";
  const char* const last = list.back();
  list.pop_back();
  return list.empty() ? std::string(last)
                      : fmt::format("{} and {}", fmt::join(list.begin(), list.end(), ", "), last);
}

std::vector<SourceLimits> source_limits(const Report& r) {
  std::map<roce::Origin, SourceLimits> found;
  for (const Connection& c : r.connections) {
    if (c.speaks != model::Speaks::kRpc || !roce::is_kernel(c.origin)) continue;
    SourceLimits& limits = found[c.origin];
    limits.differ |= limits.connections.connections != 0 && limits.absent != c.absent;
    limits.absent |= c.absent;
    add(limits.connections, 1, c.id);
  }
  std::vector<SourceLimits> list;
  for (auto& [origin, limits] : found) {
    limits.origin = origin;
    limits.events = events_of(origin);
    limits.rules = rules::rules_not_judged(static_cast<std::uint16_t>(limits.absent), r.profile);
    list.push_back(std::move(limits));
  }
  return list;
}

CaptureQuality capture_quality_of(const Report& r) {
  const CaptureSummary& c = r.capture;
  CaptureQuality t;
  t.gaps = gaps_of(r);
  t.joined = joined_of(r);
  t.not_sampled = not_sampled_of(r);
  t.icrc = icrc_of(c.packets);
  t.damaged = c.file_cut_short || !c.damage.empty();
  t.inconclusive = inconclusive_of(r);
  t.complete = t.gaps.complete() && !t.damaged && c.dropped == 0 && c.cut_short == 0 &&
               c.unread.empty() && c.unknown_link == 0 && order_of(r).amount == 0 &&
               c.packets.icrc_unchecked == 0 && c.packets.lost_capture == 0 &&
               c.packets.coalesced == 0 && r.not_listed.connections == 0 &&
               r.recording.events.lost == 0 && r.recording.events.missing == 0 &&
               r.recording.events.malformed == 0 && r.recording.events.open_ends == 0 &&
               r.recording.events.left_out == 0 && t.not_sampled.amount == 0;
  return t;
}

std::vector<QualityLine> quality_lines(const Report& r) {
  const CaptureQuality t = capture_quality_of(r);
  const CaptureSummary& c = r.capture;
  const roce::PacketStats& p = c.packets;
  std::vector<QualityLine> lines;
  const auto add = [&](const char* name, std::string text) {
    lines.push_back({name, std::move(text)});
  };
  if (!c.damage.empty()) {
    add("damaged", c.damage);
  } else if (c.file_cut_short) {
    add("damaged", "a file ends within a record");
  }
  if (!c.note.empty()) add("clock", c.note);
  if (std::string unread = unread_text(c); !unread.empty()) add("not decoded", std::move(unread));
  if (c.dropped != 0) {
    const bool events = p.roce + p.iwarp == 0 && r.recording.any();
    add("dropped",
        fmt::format("{} while capturing, according to the capture file",
                    events ? counted(c.dropped, "event") : counted(c.dropped, "packet")));
  }
  if (p.coalesced != 0) {
    add("coalesced", fmt::format("{} merged by segmentation offload (GSO, GRO) before the capture "
                                 "point; not decoded",
                                 counted(p.coalesced, "datagram")));
  }
  if (t.gaps.lost.amount != 0) {
    add("lost", fmt::format("{} by the capture, not the network: {}",
                            counted(t.gaps.lost.amount, "packet"), where(t.gaps.lost)));
  } else if (p.lost_capture != 0) {
    add("lost", fmt::format("{} by the capture, not the network; none on RPC-over-RDMA connections",
                            counted(p.lost_capture, "packet")));
  }
  if (const auto early = order_of(r); early.amount != 0) {
    add("out of order",
        fmt::format("{} to packets that are missing or captured later: {}",
                    early.amount == 1
                        ? std::string("1 acknowledgment or RDMA operation refers")
                        : fmt::format("{} acknowledgments or RDMA operations refer", early.amount),
                    where(early)));
  }
  if (p.captured_twice != 0) {
    add("duplicated",
        fmt::format("{} captured at a second point too; times are from the first copy",
                    counted(p.captured_twice, "packet")));
  }
  if (const auto& e = r.recording.events; e.lost + e.missing != 0) {
    const std::string connections = t.gaps.events_lost.amount != 0
                                        ? fmt::format(": {}", where(t.gaps.events_lost))
                                        : std::string();
    add("events", fmt::format("{} of {} emitted events are missing from the recording{}",
                              e.lost + e.missing, e.emitted, connections));
  }
  // Traces of the kernel count from its start, unless they hold the offset of the wall clock.
  constexpr std::int64_t kYear = 365LL * 24 * 3600 * 1'000'000'000;
  if (r.recording.only_kernel() && c.first_ns < kYear) {
    add("clock", "times count from the start of the machine or of its trace clock, not from 1970");
  }
  if (const std::uint64_t n = r.recording.events.open_ends; n != 0) {
    add("truncated recording",
        fmt::format("{} without closing counters: up to a second before the end may be missing",
                    n == 1 ? std::string("the recording ends")
                           : fmt::format("the recordings of {} endpoints end", n)));
  }
  if (const std::uint64_t n = r.recording.events.malformed; n != 0) {
    add("damaged",
        fmt::format("{} of the recording cannot be decoded; checks that need {} are inconclusive",
                    counted(n, "event"), n == 1 ? "it" : "them"));
  }
  for (const SourceLimits& limits : source_limits(r)) {
    if (limits.origin == roce::Origin::kKernelSums) {
      add("source", fmt::format("{}: counts and latencies, no messages; no rule was judged: {}",
                                limits.events, where(limits.connections)));
      continue;
    }
    const std::string rules =
        limits.rules == 1 ? "1 rule was" : fmt::format("{} rules were", limits.rules);
    add("source",
        fmt::format("{}: {} are not in {}; {} not judged{}: {}", limits.events, absent_text(limits),
                    limits.differ ? "all of them" : "them", rules,
                    limits.differ ? " on at least one connection" : "", where(limits.connections)));
  }
  if (t.not_sampled.amount != 0) {
    add("not sampled",
        fmt::format("{} of {}: the endpoint traces a sample of its connections (--sample), and "
                    "recorded only their beginning and end: {}",
                    t.not_sampled.amount, counted(r.connections.size(), "connection"),
                    where(t.not_sampled)));
  }
  const std::string excluded = trace_reader::type_names(r.recording.events.left_out);
  if (!excluded.empty()) {
    add("excluded", fmt::format("event types that the recording excludes: {}; their absence is not "
                                "evidence",
                                excluded));
  }
  if (t.gaps.operations_unseen.amount != 0) {
    add("operations",
        excluded.empty()
            ? fmt::format("the peer's RDMA Reads and Writes are not recorded: {}; "
                          "{} does not show them",
                          where(t.gaps.operations_unseen),
                          r.recording.only_kernel() ? "Linux" : "the endpoint's device")
            : fmt::format("RDMA Reads and Writes are not recorded, or not all: {}",
                          where(t.gaps.operations_unseen)));
  }
  if (r.not_listed.connections != 0) {
    add("not listed",
        fmt::format("{}: at most {} are tracked at once",
                    counted(r.not_listed.connections, "connection"), roce::kMaxConnections));
  }
  const std::string incomplete =
      t.gaps.cut_short.amount == 0
          ? std::string()
          : fmt::format("{}: {}", counted(t.gaps.cut_short.amount, "message"),
                        where(t.gaps.cut_short));
  if (const std::uint64_t n = c.cut_short + p.icrc_unchecked; n != 0) {
    add("truncated", fmt::format("{}{}{}", c.snaplen == 0 ? counted(n, "packet") : snaplen_text(c),
                                 incomplete.empty() ? "" : ", in ", incomplete));
  } else if (!incomplete.empty()) {
    add("truncated", incomplete);
  }
  if (t.gaps.one_sided.amount != 0) {
    add("one direction", fmt::format("packets of one side only: {}", where(t.gaps.one_sided)));
  }
  if (t.gaps.silent.amount != 0) {
    add("set-up only",
        fmt::format("{}: the data bypass this capture point, as those of an RNIC bypass the packet "
                    "capture of its host",
                    where(t.gaps.silent)));
  }
  if (t.gaps.clock_steps_back.amount != 0) {
    add("clock", fmt::format("steps back: {}; latencies and order there are unreliable",
                             where(t.gaps.clock_steps_back)));
  } else if (c.clock_steps_back != 0) {
    add("clock", fmt::format("steps back at {}", counted(c.clock_steps_back, "frame")));
  }
  if (p.crc_bad != 0) add("CRC", fmt::format("{}: damaged", rules::bad_crcs(p)));
  switch (t.icrc) {
    case IcrcSeen::kSomeWrong:
      add("ICRC",
          fmt::format("invalid in {} of {} packets: damaged{}", p.icrc_bad,
                      p.icrc_bad + p.icrc_good,
                      p.coalesced == 0 ? "" : ", or short packets coalesced before capture"));
      break;
    case IcrcSeen::kAllWrong:
      add("ICRC", fmt::format("not visible: invalid in all {} packets, because the capture point "
                              "sees packets before the ICRC is computed, a tool rewrote them, or "
                              "the devices do not compute it; damage would not show",
                              p.icrc_bad));
      break;
    case IcrcSeen::kAccepted:
      add("ICRC",
          fmt::format("not visible: invalid in {} of {} packets, and their receivers answer "
                      "them; damage would not show",
                      p.icrc_bad, p.icrc_bad + p.icrc_good));
      break;
    case IcrcSeen::kOff:
      add("ICRC", "not verified (--no-icrc): damage would not show");
      break;
    case IcrcSeen::kUnchecked:
      add("ICRC", "not visible: all packets are truncated; damage would not show");
      break;
    case IcrcSeen::kNone:
    case IcrcSeen::kGood:
      break;
  }
  if (t.gaps.begun_before.amount != 0) {
    add("mid-stream start",
        fmt::format("{}: credits, thresholds and handles from before the capture are unknown",
                    where(t.gaps.begun_before)));
  }
  if (t.joined.amount != 0) {
    add("joined", fmt::format("{}: from more than one report. Rules that need a whole connection, "
                              "such as CREDIT-STARVED, SLOW-PEER, CONN-LOST and RECONNECT, ran on "
                              "each part alone; their findings may be missing",
                              where(t.joined)));
  }
  if (r.reconnects.unsought) {
    add("not searched",
        "not all Calls were compared with those of earlier connections, because a report holds the "
        "first Calls of some connections only: RECONNECT, ANSWERED-TWICE and FC-08 may be missing");
  }
  for (const InconclusiveGroup& g : t.inconclusive) {
    add("inconclusive",
        fmt::format("{} ({}) on connection{} {}: {}", counted(g.count, "check"), first_of(g.rules),
                    g.connections.size() == 1 ? "" : "s", first_of(g.connections), g.reason));
  }
  return lines;
}

}  // namespace rpcrdma::report
