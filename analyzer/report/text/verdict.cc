// Writes the text of the verdict: errors or warnings and the peers at fault, unanswered Calls, and
// the limits of the capture.
#include "capture_quality.h"
#include "in_flight.h"
#include "refused_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {

namespace {

// If the capture lost more than one packet in this many, missing messages may be its losses.
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
// the source of a connection shows less than a recording by an endpoint does.
std::string not_judged_by_source(const Report& r) {
  std::string text;
  for (const SourceLimits& limits : source_limits(r)) {
    if (limits.rules == 0) continue;
    text +=
        fmt::format("{}{} not judged: {} do not show what they need", text.empty() ? "" : "; ",
                    limits.rules == 1 ? "1 rule was" : fmt::format("{} rules were", limits.rules),
                    limits.events);
  }
  return text;
}

// Returns " Connection 1: 32 Calls acknowledged and unanswered for 90 s." for the first stall,
// because it matters most to the user.
std::string stalled(const Report& r) {
  const std::string_view name = rules::rule(rules::RuleId::kStall).name;
  const auto of_stall = [name](const Finding& f) { return f.rule == name; };
  const auto first = std::find_if(r.findings.begin(), r.findings.end(), of_stall);
  if (first == r.findings.end()) return {};
  const auto more = std::count_if(std::next(first), r.findings.end(), of_stall);
  return fmt::format(" Connection {}: {}{}.", first->connection,
                     first->text.substr(0, first->text.find(';')),
                     more == 0 ? "" : fmt::format("; {} more stalled", more));
}

// Names the frames that were not decoded, because they may carry more RDMA traffic.
std::string not_decoded(const Report& r) {
  const std::string unread = unread_text(r.capture);
  return unread.empty() ? std::string() : fmt::format(" {} were not decoded.", unread);
}

// The verdict on a capture without RPC-over-RDMA messages.
std::string nothing_found(const Report& r) {
  if (r.recording.has_sums()) {
    return "Only sums were recorded, no messages: no rule was judged.";
  }
  if (r.capture.packets.roce != 0 || r.recording.any()) {
    if (!r.filter.empty()) return "No message matches the filter.";
    return fmt::format("No RPC-over-RDMA message in this {}.{}",
                       r.capture.packets.roce == 0 ? "recording" : "capture", not_decoded(r));
  }
  const std::string unread = unread_text(r.capture);
  return unread.empty() ? "No RDMA traffic in this capture."
                        : fmt::format(
                              "No RDMA traffic in the decoded frames; {} were not "
                              "decoded.",
                              unread);
}

}  // namespace

Verdict verdict(const Report& r) {
  const roce::PacketStats& p = r.capture.packets;
  const std::uint64_t calls = r.messages.kinds[static_cast<std::size_t>(model::Kind::kCall)];
  std::uint64_t messages = 0;
  for (const std::uint64_t n : r.messages.kinds) messages += n;
  const bool errors = r.has_errors();
  if (messages == 0 && !errors) {
    return {Health::kNothing, nothing_found(r)};
  }
  const bool lossy = p.lost_capture > p.roce / kLossyShare;
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
    return {errors ? Health::kErrors : Health::kLossy, text};
  }
  if (lossy) {
    text += fmt::format("{}The capture lost {} of {} packets; missing messages cannot be judged.",
                        text.empty() ? "" : " ", p.lost_capture, p.roce + p.lost_capture);
    text += not_decoded(r);
    return {errors ? Health::kErrors : Health::kLossy, text};
  }
  if (errors) return {Health::kErrors, text + stalled(r)};
  // Sums over procedures, because connections also count Calls that a filter excludes.
  std::uint64_t unanswered = 0;
  for (const auto& [key, procedure] : r.procedures) unanswered += procedure.unmatched;
  const std::string answered =
      number(calls, "Call") + (unanswered == 0
                                   ? std::string(", all answered")
                                   : unanswered_text(r, unanswered, counted_in_flight(r)));
  if (any(r, rules::Severity::kWarning)) {
    std::string source = not_judged_by_source(r);
    if (!source.empty()) source = fmt::format(" {}.", source);
    return {Health::kWarnings,
            fmt::format("No errors; {}.{} {}.{}{}", by_whom(r, rules::Severity::kWarning), refused,
                        answered, stalled(r), source)};
  }
  std::string not_judged = unjudged(r);
  if (const std::string source = not_judged_by_source(r); !source.empty()) {
    not_judged += (not_judged.empty() ? "" : "; ") + source;
  }
  if (!not_judged.empty()) {
    return {Health::kHealthy,
            fmt::format("No faults found: {}; {}.{}", answered, not_judged, not_decoded(r))};
  }
  const std::string more = not_decoded(r);
  return {Health::kHealthy,
          fmt::format("{}: {}.{}", more.empty() ? "Healthy" : "No faults found", answered, more)};
}

}  // namespace rpcrdma::report
