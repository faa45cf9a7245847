// Writes the text of the verdict: errors or warnings and the peers at fault, unanswered Calls, and
// the limits of the capture.
#include "capture_quality.h"
#include "in_flight.h"
#include "refused_text.h"
#include "time_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {

namespace {

// If the capture lost more than one packet or event in this many, missing messages may be its
// losses.
constexpr std::uint64_t kLossyShare = 50;
// The number of peers that a verdict names.
constexpr std::size_t kPeersNamed = 3;

std::string number(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// Returns "3 errors by the server 10.0.0.1 (HDR-06, FC-01), 1 by 10.0.0.2 (HDR-02)".
std::string by_whom(const Report& r, rules::Severity severity) {
  struct Peer {
    std::string name;
    std::uint64_t count = 0;
    std::vector<std::string> rules;
  };
  std::vector<Peer> peers;
  for (const Finding& f : r.findings) {
    if (f.severity != severity) continue;
    const std::string name = f.peer.empty()   ? std::string()
                             : f.role.empty() ? f.peer
                                              : fmt::format("the {} {}", f.role, f.peer);
    auto at =
        std::find_if(peers.begin(), peers.end(), [&](const Peer& p) { return p.name == name; });
    if (at == peers.end()) {
      // The last entry counts all further peers.
      if (peers.size() > kPeersNamed) {
        at = std::prev(peers.end());
      } else {
        at = peers.insert(peers.end(), Peer{});
        at->name = peers.size() > kPeersNamed ? "others" : name;
      }
    }
    at->count += f.count;
    if (std::find(at->rules.begin(), at->rules.end(), f.rule) == at->rules.end()) {
      at->rules.push_back(f.rule);
    }
  }
  std::string text;
  for (const Peer& p : peers) {
    text += text.empty() ? number(p.count, rules::severity_name(severity))
                         : fmt::format(", {}", p.count);
    if (!p.name.empty()) text += fmt::format(" by {}", p.name);
    text += " (";
    constexpr std::size_t kRulesNamed = 4;
    for (std::size_t i = 0; i < std::min(p.rules.size(), kRulesNamed); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", p.rules[i]);
    }
    text += p.rules.size() > kRulesNamed ? ", ...)" : ")";
  }
  return text;
}

bool any(const Report& r, rules::Severity severity) {
  return std::any_of(r.findings.begin(), r.findings.end(),
                     [&](const Finding& f) { return f.severity == severity; });
}

// Returns "9 packets were retransmitted, and RETX-STORM could not be judged" if checks of the
// network were inconclusive, so that a verdict does not imply a network without faults.
std::string unjudged(const Report& r) {
  std::string names;
  for (const rules::RuleId id : {rules::RuleId::kRetxStorm, rules::RuleId::kSlowNetwork}) {
    const std::string_view name = rules::rule(id).name;
    if (std::any_of(r.inconclusive.begin(), r.inconclusive.end(),
                    [name](const Inconclusive& w) { return w.rule == name; })) {
      names += fmt::format("{}{}", names.empty() ? "" : " and ", name);
    }
  }
  if (names.empty()) return {};
  const std::uint64_t again = r.capture.packets.retransmitted;
  if (again == 0) return fmt::format("{} could not be judged", names);
  return fmt::format("{} {} retransmitted, and {} could not be judged", number(again, "packet"),
                     again == 1 ? "was" : "were", names);
}

// Returns "62 rules were not judged: events of kernel tracepoints do not show what they need" if
// the source of a connection shows less than a recording by an endpoint does, and the number of
// connections that are not in an endpoint's sample.
std::string not_judged_by_source(const Report& r) {
  std::string text;
  for (const SourceLimits& limits : source_limits(r)) {
    if (limits.rules == 0) continue;
    text +=
        fmt::format("{}{} not judged: {} do not show what they need", text.empty() ? "" : "; ",
                    limits.rules == 1 ? "1 rule was" : fmt::format("{} rules were", limits.rules),
                    limits.events);
  }
  if (const std::uint64_t n = capture_quality_of(r).not_sampled.amount; n != 0) {
    text += fmt::format("{}{} of {} {} not judged: only a sample of the connections was traced",
                        text.empty() ? "" : "; ", n, number(r.connections.size(), "connection"),
                        n == 1 ? "was" : "were");
  }
  return text;
}

// Returns " Connection 1: 32 Calls acknowledged and unanswered for 90 s (since 22:49:13)." for the
// first stall, because it matters most to the user.
std::string stalled(const Report& r) {
  const std::string_view name = rules::rule(rules::RuleId::kStall).name;
  const auto of_stall = [name](const Finding& f) { return f.rule == name; };
  const auto first = std::find_if(r.findings.begin(), r.findings.end(), of_stall);
  if (first == r.findings.end()) return {};
  const auto more = std::count_if(std::next(first), r.findings.end(), of_stall);
  const std::string when = rules::spans_text(first->spans);
  return fmt::format(" Connection {}: {}{}{}.", first->connection,
                     first->text.substr(0, first->text.find(';')),
                     when.empty() ? "" : fmt::format(" ({})", when),
                     more == 0 ? "" : fmt::format("; {} more stalled", more));
}

// Names the frames that were not decoded, because they may carry more RDMA traffic.
std::string not_decoded(const Report& r) {
  const std::string unread = unread_text(r.capture);
  return unread.empty() ? std::string() : fmt::format(" {} were not decoded.", unread);
}

// " 12 Calls of NFS over TCP: ..." explains why there is no RPC-over-RDMA.
std::string nfs_over_tcp(const Report& r) {
  if (r.capture.nfs_tcp == 0) return {};
  return fmt::format(
      " {} of NFS over TCP: this mount does not use RDMA; mount with proto=rdma,port=20049.",
      number(r.capture.nfs_tcp, "Call"));
}

// Returns "the snapshot length of 96 bytes truncated 12 messages" if it did.
std::string snaplen_judged(const Report& r) {
  const CaptureSummary& c = r.capture;
  const std::uint64_t messages = capture_quality_of(r).gaps.cut_short.amount;
  const std::uint64_t headers = c.cut_short + c.packets.headers_cut + c.packets.cm_cut;
  if (c.snaplen == 0 || messages + headers == 0) return {};
  return fmt::format(
      "the snapshot length of {} bytes truncated {}: the missing bytes were not "
      "judged",
      c.snaplen, messages != 0 ? number(messages, "message") : number(headers, "header"));
}

// The verdict if the snapshot length is too short `for_what`.
std::string nothing_judged(const Report& r, const char* for_what) {
  const CaptureSummary& c = r.capture;
  const std::uint64_t cut = c.cut_short + c.packets.icrc_unchecked;
  return fmt::format(
      "Nothing judged: the snapshot length of {} bytes, which truncated {} of {} packets, is too "
      "short {}. Capture with tcpdump -s 0 or rpcrdma capture --snaplen 0.{}",
      c.snaplen, cut, c.cut_short + c.packets.roce, for_what, not_decoded(r));
}

// The verdict on a capture without RPC-over-RDMA messages.
std::string nothing_found(const Report& r) {
  if (r.recording.has_sums()) {
    return "Only sums were recorded, no messages: no rule was judged.";
  }
  if (r.capture.packets.roce + r.capture.packets.iwarp != 0 || r.recording.any()) {
    if (!r.filter.empty()) return "No message matches the filter.";
    if (const rules::CaptureGaps::Gap gap = capture_quality_of(r).not_sampled; gap.amount != 0) {
      return fmt::format(
          "No message in this recording: only a sample of the connections was traced, without {}.",
          where(gap));
    }
    if (const rules::CaptureGaps gaps = capture_quality_of(r).gaps;
        gaps.silent.amount != 0 && rules::only_set_ups(r.capture.packets)) {
      return fmt::format(
          "Only the set-up of {} in this capture: the data bypass this capture point.{}{}",
          where(gaps.silent), nfs_over_tcp(r), not_decoded(r));
    }
    if (r.capture.snaplen != 0) return nothing_judged(r, "for a message");
    return fmt::format(
        "No RPC-over-RDMA message in this {}.{}{}",
        r.capture.packets.roce + r.capture.packets.iwarp == 0 ? "recording" : "capture",
        nfs_over_tcp(r), not_decoded(r));
  }
  if (r.capture.snaplen != 0) return nothing_judged(r, "to find a connection");
  const std::string unread = unread_text(r.capture);
  if (unread.empty()) return fmt::format("No RDMA traffic in this capture.{}", nfs_over_tcp(r));
  const bool link_type =
      std::any_of(r.capture.unread.begin(), r.capture.unread.end(),
                  [](const auto& u) { return u.first.starts_with("link type"); });
  return fmt::format(
      "No RDMA traffic in the decoded frames; {} were not decoded.{}{}", unread, nfs_over_tcp(r),
      link_type ? " If Ethernet follows a header of N bytes in each: editcap -C N -T "
                  "ether IN OUT; IP: -T rawip."
                : "");
}

// "12 Calls, all answered", or why answers cannot be judged.
std::string answers(const Report& r, const VerdictNumbers& n) {
  const auto one_sided = capture_quality_of(r).gaps.one_sided;
  if (one_sided.amount != 0) {
    std::uint64_t replies = r.messages.kinds[static_cast<std::size_t>(model::Kind::kReply)];
    for (const auto& [key, p] : r.procedures) replies -= std::min(replies, p.replies);
    const bool all = n.calls == n.unanswered;
    if (all) {
      const std::string seen = n.calls != 0   ? number(n.calls, "Call")
                               : replies == 1 ? std::string("1 Reply")
                                              : fmt::format("{} Replies", replies);
      return fmt::format(
          "{}; only one direction of {} is in the capture, so answers cannot be judged", seen,
          where(one_sided));
    }
  }
  if (n.calls == 0) return "no Call in the capture";
  return number(n.calls, "Call") + (n.unanswered == 0
                                        ? std::string(", all answered")
                                        : unanswered_text(r, n.unanswered, counted_in_flight(r)));
}

// The side that all findings of this severity blame.
void name_side(const Report& r, rules::Severity severity, Verdict& v) {
  bool first = true;
  for (const Finding& f : r.findings) {
    if (f.severity != severity) continue;
    if (first) {
      v.side = f.peer;
      v.role = f.role;
    } else if (f.peer != v.side || f.role != v.role) {
      v.side.clear();
      v.role.clear();
    }
    first = false;
  }
}

constexpr std::size_t kMostEvidence = 16;

void add_evidence(const Report& r, Verdict& v) {
  for (const rules::Severity severity :
       {rules::Severity::kError, rules::Severity::kWarning, rules::Severity::kNote}) {
    for (std::size_t i = 0; i < r.findings.size() && v.evidence.size() < kMostEvidence; ++i) {
      if (r.findings[i].severity == severity) v.evidence.push_back(i);
    }
    if (v.evidence.empty()) continue;
    name_side(r, severity, v);
    return;
  }
}

Verdict judged(const Report& r, const VerdictNumbers& n) {
  const roce::PacketStats& p = r.capture.packets;
  std::uint64_t messages = 0;
  for (const std::uint64_t count : r.messages.kinds) messages += count;
  const auto of = [](Health health, std::string words, bool all) {
    Verdict v;
    v.health = health;
    v.judged = all;
    v.text = std::move(words);
    return v;
  };
  const bool errors = r.has_errors();
  if (messages == 0 && !errors) {
    return of(Health::kNothing, nothing_found(r), false);
  }
  const std::uint64_t packets = p.roce + p.iwarp;
  // What the file counts as dropped is known to be missing, whatever the packets show.
  const bool of_events = packets == 0 && r.recording.any();
  const std::uint64_t present = of_events ? r.capture.events : packets;
  const std::uint64_t lost = std::max(
      p.lost_capture,
      r.capture.dropped > r.capture.frames / kLossyShare ? r.capture.dropped : std::uint64_t{0});
  const bool lossy = lost > present / kLossyShare;
  std::string text;
  std::string refused = refused_text(r);
  if (!refused.empty()) refused = fmt::format(" {}.", refused);
  if (errors) text = fmt::format("{}.{}", by_whom(r, rules::Severity::kError), refused);
  if (lossy && p.coalesced != 0) {
    text += fmt::format(
        "{}{} coalesced by segmentation offload (GSO, GRO) before capture; packet loss cannot be "
        "judged.",
        text.empty() ? "" : " ",
        p.coalesced == 1 ? "1 datagram was" : fmt::format("{} datagrams were", p.coalesced));
    return of(errors ? Health::kErrors : Health::kLossy, text + stalled(r), false);
  }
  if (lossy) {
    text += fmt::format("{}The {} lost {} of {} {}; missing messages cannot be judged.",
                        text.empty() ? "" : " ", of_events ? "recording" : "capture", lost,
                        present + lost, of_events ? "events" : "packets");
    text += stalled(r) + not_decoded(r);
    return of(errors ? Health::kErrors : Health::kLossy, text, false);
  }
  if (errors) return of(Health::kErrors, text + stalled(r), true);
  const std::string answered = answers(r, n);
  if (any(r, rules::Severity::kWarning)) {
    std::string source = not_judged_by_source(r);
    if (!source.empty()) source = fmt::format(" {}.", source);
    if (std::string snaplen = snaplen_judged(r); !snaplen.empty()) {
      snaplen.front() = 'T';
      source += fmt::format(" {}.", snaplen);
    }
    return of(Health::kWarnings,
              fmt::format("No errors; {}.{} {}.{}{}", by_whom(r, rules::Severity::kWarning),
                          refused, answered, stalled(r), source),
              true);
  }
  std::string not_judged = unjudged(r);
  if (const std::string source = not_judged_by_source(r); !source.empty()) {
    not_judged += (not_judged.empty() ? "" : "; ") + source;
  }
  if (const std::string snaplen = snaplen_judged(r); !snaplen.empty()) {
    not_judged += (not_judged.empty() ? "" : "; ") + snaplen;
  }
  if (!not_judged.empty()) {
    return of(Health::kHealthy,
              fmt::format("No faults found: {}; {}.{}", answered, not_judged, not_decoded(r)),
              false);
  }
  const std::string more = not_decoded(r);
  const bool one_sided = capture_quality_of(r).gaps.one_sided.amount != 0;
  const bool all = more.empty() && !one_sided && n.calls != 0;
  return of(Health::kHealthy,
            fmt::format("{}: {}.{}", all ? "Healthy" : "No faults found", answered, more), all);
}

}  // namespace

const char* verdict_kind(const Verdict& v) {
  switch (v.health) {
    case Health::kNothing:
      return "nothing";
    case Health::kLossy:
      return "not judged";
    case Health::kErrors:
      return "errors";
    case Health::kWarnings:
      return "warnings";
    case Health::kHealthy:
      return v.judged ? "healthy" : "no faults found";
  }
  return "nothing";
}

Verdict verdict(const Report& r) {
  VerdictNumbers n = verdict_numbers(r);
  Verdict v = judged(r, n);
  if (v.health != Health::kNothing) v.time = time_text(r, n);
  if (r.ends) v.ends = r.ends->verdict;
  add_evidence(r, v);
  v.numbers = std::move(n);
  return v;
}

}  // namespace rpcrdma::report
