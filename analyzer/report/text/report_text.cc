// Writes a report as text: verdict, findings, capture quality, connections, procedures and slowest
// Calls.
#include "capture_quality.h"
#include "files_text.h"
#include "fold.h"
#include "importance.h"
#include "in_flight.h"
#include "outages.h"
#include "recording_text.h"
#include "sessions_text.h"
#include "text/ends_text.h"
#include "text/latency_text.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report_text.h>
#include <rpcrdma/report/verdict.h>
#include <rpcrdma/report/view_text.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::report {

namespace {

// A report from a file and a recording can contain any text.
using plot::escape_terminal;

// Limits without TextOptions::all.
constexpr std::size_t kConnectionsShown = 20;
constexpr std::size_t kFindingsOfGroupShown = 4;

struct Paint {
  bool on;
  [[nodiscard]] std::string operator()(const char* code, const std::string& text) const {
    return on ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }
};

std::string verdict_text(const Report& r, const Paint& paint) {
  const Verdict v = verdict(r);
  const char* const code = v.health == Health::kErrors                                   ? "1;31"
                           : v.health == Health::kLossy || v.health == Health::kWarnings ? "1;33"
                           : v.health == Health::kHealthy                                ? "1;32"
                                                                                         : "1";
  return paint(code, escape_terminal(v.sentence())) + '\n';
}

std::string number(std::uint64_t n, const char* one, const char* several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

const char* side_name(std::size_t side) {
  return side == 0 ? "client" : "server";
}

std::string end_text(const EndPoint& e) {
  const std::string address = escape_terminal(e.address);
  if (e.port) return fmt::format("{} port {}", address, *e.port);
  return e.qpn ? fmt::format("{} QP {}", address, *e.qpn) : fmt::format("{} QP ?", address);
}

std::string frames_text(const std::vector<std::uint64_t>& frames, std::uint64_t count) {
  if (frames.empty()) return {};
  std::string text = frames.size() == 1 ? "frame" : "frames";
  for (std::size_t i = 0; i < std::min<std::size_t>(frames.size(), 8); ++i) {
    text += fmt::format("{}{}", i == 0 ? " " : ", ", frames[i]);
  }
  if (count > frames.size() || frames.size() > 8) text += ", ...";
  return text;
}

std::string private_data_text(const Connection& c, const EndPoint& e) {
  if (!e.private_data) return e.cm_seen && !c.lacks(roce::kAbsentSetup) ? "none" : "unknown";
  return fmt::format("send {}, receive {}, remote invalidation {}",
                     format_bytes(e.private_data->send_size),
                     format_bytes(e.private_data->receive_size),
                     e.private_data->remote_invalidation ? "yes" : "no");
}

std::string threshold_text(std::uint32_t bytes) {
  return bytes == 0 ? "unknown" : format_bytes(bytes);
}

// Appends "; credits requested 128, granted 64, at most 3 in use": the values that are known.
void credits_text(const Direction& d, std::string& out) {
  const auto to = std::back_inserter(out);
  out += "; credits ";
  if (d.requested_known) fmt::format_to(to, "requested {}, ", d.requested);
  if (d.granted_known) fmt::format_to(to, "granted {}, ", d.granted);
  fmt::format_to(to, "at most {} in use\n", d.in_use_max);
}

void views_text(const Connection& c, std::string& out) {
  if (c.views.empty()) return;
  if (!c.file.empty()) out += fmt::format("  shown by   {}\n", escape_terminal(c.file));
  for (const session::View& v : c.views) {
    out += fmt::format("  also in    {}:", escape_terminal(view_name(v)));
    const std::vector<std::string> parts = view_text(v);
    for (std::size_t i = 0; i < parts.size(); ++i)
      out += fmt::format("{}{}", i == 0 ? " " : "; ", parts[i]);
    out += '\n';
  }
}

void tunnels_text(std::string& out, const Connection& c) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(c.tunnels.size(), kMost); ++i) {
    const Tunnels& t = c.tunnels[i];
    out += escape_terminal(fmt::format("  tunnel     {}, {} of the {}", report::tunnels_text(t),
                                       number(t.packets, "packet", "packets"),
                                       side_name(t.from_server ? 1 : 0))) +
           '\n';
  }
  if (c.tunnels.size() > kMost) {
    out += fmt::format("  tunnel     and {} more\n", c.tunnels.size() - kMost);
  }
}

void connection_text(std::string& out, const Report& r, const Connection& c,
                     const InFlight& in_flight, const Paint& paint) {
  out += paint("1", fmt::format("Connection {}", c.id));
  out += fmt::format(": client {} - server {}\n", end_text(c.side[0]), end_text(c.side[1]));
  std::string setup = c.recorded ? "before the recording" : "before the capture";
  if (!c.by_cm && r.capture.packets.cm_cut != 0) {
    setup = "not seen, or its CM messages are truncated";
  }
  if (c.by_cm) {
    setup = fmt::format("frame {}", c.side[0].cm_frame);
    if (c.transport == roce::Transport::kIwarp) {
      setup += fmt::format(", MPA revision {}", c.mpa_revision);
    } else if (wire::is_rdma_ip_service(c.service_id)) {
      setup += fmt::format(", port {}", wire::service_port(c.service_id));
    }
  }
  if (c.transport == roce::Transport::kIwarp) setup += ", iWARP";
  if (c.path_mtu != 0) setup += fmt::format(", path MTU {}", c.path_mtu);
  if (c.roles == Roles::kUnknown) setup += ", roles unknown";
  out += fmt::format("  set-up     {}\n", setup);
  views_text(c, out);
  tunnels_text(out, c);
  if (c.state == roce::State::kRejected) {
    out +=
        fmt::format("  refused    by the {}: {}{}{}\n", side_name(c.closed_by == 0 ? 0 : 1),
                    escape_terminal(refusal_text(c)),
                    c.reject_data.empty() ? "" : "; private data ", escape_terminal(c.reject_data));
  } else if (c.closed_by >= 0) {
    out += fmt::format("  closed     by the {}, frame {}\n", side_name(c.closed_by == 0 ? 0 : 1),
                       c.closed_frame);
  }
  if (c.speaks != model::Speaks::kRpc) {
    out += fmt::format("  protocol   {}; {} SENDs, {} + {} packets\n",
                       c.sends == 0                        ? "no SEND seen"
                       : c.speaks == model::Speaks::kOther ? "not RPC-over-RDMA"
                                                           : "unknown",
                       c.sends, c.side[0].counters.packets, c.side[1].counters.packets);
    return;
  }
  // A connection without a message, such as a refused one, has no version.
  const std::string version = c.version != 0 ? fmt::format(" version {}", c.version) : "";
  const bool sampled = !c.lacks(roce::kAbsentMessages);
  const bool sums = c.origin == roce::Origin::kKernelSums || !sampled;
  out += fmt::format("  protocol   RPC-over-RDMA{}, {}", version,
                     sums ? "messages are not recorded" : fmt::format("{} messages", c.messages));
  if (c.malformed != 0) out += fmt::format(", {} malformed", c.malformed);
  out += '\n';
  if (roce::is_kernel(c.origin)) {
    out += fmt::format("  source     {}\n", roce::origin_name(c.origin));
  }
  if (!sampled) out += "  source     endpoint; not in the sample of connections that it traced\n";
  if (!c.dialect.name.empty()) {
    out += escape_terminal(fmt::format(
               "  dialect    {}: {}{}; no rules cover it", c.dialect.name,
               c.dialect.frame != 0 ? fmt::format("frame {}, ", c.dialect.frame) : std::string(),
               c.dialect.reason)) +
           '\n';
  }
  if (c.by_cm || c.recorded) {
    out += fmt::format("  private    client: {}; server: {}\n", private_data_text(c, c.side[0]),
                       private_data_text(c, c.side[1]));
    out += fmt::format("  thresholds Calls {}, Replies {}\n", threshold_text(c.thresholds.call),
                       threshold_text(c.thresholds.reply));
  }
  const auto direction = [&](const char* name, const Direction& d) {
    if (d.calls == 0 && d.unmatched_replies == 0) return;
    out += fmt::format("  {:<10} {}, {}", name, number(d.calls, "Call", "Calls"),
                       number(d.replies, "Reply", "Replies"));
    if (d.errors != 0) out += ", " + number(d.errors, "RDMA_ERROR", "RDMA_ERRORs");
    const auto flying = in_flight.find({c.id, &d == &c.direction[1]});
    out += unanswered_text(r, d.unmatched_calls, flying == in_flight.end() ? 0 : flying->second);
    if (d.unmatched_replies != 0) {
      out += fmt::format(", {} without Call", number(d.unmatched_replies, "Reply", "Replies"));
    }
    credits_text(d, out);
  };
  direction("forward", c.direction[0]);
  direction("reverse", c.direction[1]);
  constexpr const char* kLists[] = {"Read", "Write", "Reply"};
  std::string chunks;
  for (std::size_t i = 0; i < 3; ++i) {
    if (c.chunks[i] == 0) continue;
    // Where nobody reports the operations, the bytes that they moved are not known.
    const bool unseen = c.lacks(roce::kAbsentOperations) && c.chunk_bytes[i] == 0;
    chunks += fmt::format("{}{} {} chunk{}{}", chunks.empty() ? "" : ", ", c.chunks[i], kLists[i],
                          c.chunks[i] == 1 ? "" : "s",
                          unseen ? "" : " " + format_bytes(c.chunk_bytes[i]));
  }
  if (!c.lacks(roce::kAbsentLengths) && !sums) {
    chunks += fmt::format("{}inline {}", chunks.empty() ? "" : ", ", format_bytes(c.inline_bytes));
  }
  if (!chunks.empty()) out += fmt::format("  moved      {}\n", chunks);
  std::string trouble;
  for (std::size_t s = 0; s < 2; ++s) {
    const roce::SideCounters& k = c.side[s].counters;
    const auto item = [&](std::uint64_t n, const std::string& what) {
      if (n == 0) return;
      trouble += fmt::format("{}{} by the {}", trouble.empty() ? "" : ", ", what, side_name(s));
    };
    item(k.retransmitted, number(k.retransmitted, "packet", "packets") + " retransmitted");
    item(k.lost_network, fmt::format("{} lost in the network", k.lost_network));
    item(k.lost_capture, fmt::format("{} missing from the capture", k.lost_capture));
    item(k.reordered, fmt::format("{} out of order", k.reordered));
    item(k.ce, number(k.ce, "packet", "packets") + " marked CE");
    item(k.cnps, number(k.cnps, "CNP", "CNPs"));
    item(k.rnr, number(k.rnr, "RNR NAK", "RNR NAKs"));
    for (std::size_t n = 0; n < k.naks.size(); ++n) {
      item(k.naks[n], fmt::format("{} ({})", number(k.naks[n], "NAK", "NAKs"),
                                  wire::nak_name(static_cast<std::uint8_t>(n))));
    }
  }
  if (!trouble.empty()) out += fmt::format("  packets    {}\n", trouble);
}

std::string about(const Finding& x) {
  return escape_terminal(fmt::format(
      "{}{}{}", x.rule, x.connection != 0 ? fmt::format(", connection {}", x.connection) : "",
      x.peer.empty()   ? ""
      : x.role.empty() ? fmt::format(", {}", x.peer)
                       : fmt::format(", {} {}", x.role, x.peer)));
}

std::string what(const Finding& x) {
  std::string where = frames_text(x.frames, x.count);
  if (x.count > 1) where = fmt::format("{} times{}{}", x.count, where.empty() ? "" : ", ", where);
  const std::string when = rules::spans_text(x.spans);
  if (!when.empty()) where = where.empty() ? when : fmt::format("{}, {}", when, where);
  return escape_terminal(where.empty() ? x.text : fmt::format("{} ({})", x.text, where));
}

// Deliberate behaviour of a known implementation, which is no fault.
bool is_quirk(const Finding& f) {
  const rules::Rule* const rule = rules::find_rule(f.rule);
  return f.severity == rules::Severity::kNote && rule != nullptr &&
         rule->where == rules::Where::kImplementationQuirk;
}

// Groups the findings of one rule about one peer, at the place of the first of them. `quirks`: only
// those of known implementations, which come last; otherwise all others.
void findings_text(const Report& r, const TextOptions& options, bool quirks, const Paint& paint,
                   std::string& out) {
  const auto of_these = [&](const Finding& f) { return is_quirk(f) == quirks; };
  const bool any = std::any_of(r.findings.begin(), r.findings.end(), of_these);
  if (quirks && !any) return;
  out += paint("1", quirks ? "\nKnown behaviour of implementations" : "\nFindings");
  if (!any) out += r.findings.empty() ? ": none" : ": none but known behaviour, listed last";
  out += '\n';
  using Key = std::tuple<rules::Severity, std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::size_t> index;
  std::vector<std::vector<const Finding*>> groups;
  for (const Finding& x : r.findings) {
    if (!of_these(x)) continue;
    const auto [it, added] =
        index.try_emplace(Key{x.severity, x.rule, x.peer, x.advice}, groups.size());
    if (added) groups.emplace_back();
    groups[it->second].push_back(&x);
  }
  for (const auto& group : groups) {
    const Finding& first = *group.front();
    const char* code = first.severity == rules::Severity::kError     ? "31"
                       : first.severity == rules::Severity::kWarning ? "33"
                                                                     : "36";
    out += fmt::format("  {} {}: {}\n", paint(code, rules::severity_name(first.severity)),
                       about(first), what(first));
    const std::size_t shown =
        options.all ? group.size() : std::min(group.size(), kFindingsOfGroupShown);
    for (std::size_t i = 1; i < shown; ++i) {
      out += fmt::format(
          "    {}{}\n",
          group[i]->connection != 0 ? fmt::format("connection {}: ", group[i]->connection) : "",
          what(*group[i]));
    }
    if (shown < group.size()) {
      out += fmt::format("    and {} more of the same rule (--all lists them)\n",
                         group.size() - shown);
    }
    if (!first.advice.empty()) out += fmt::format("    {}\n", escape_terminal(first.advice));
  }
  std::uint64_t omitted = 0;
  for (const std::uint64_t n : r.findings_omitted) omitted += quirks ? 0 : n;
  if (omitted != 0) out += fmt::format("  and {} more, not listed\n", omitted);
}

void capture_quality_text(const Report& r, const Paint& paint, std::string& out) {
  const std::vector<QualityLine> lines = quality_lines(r);
  out += paint("1", "Capture quality");
  if (lines.empty()) out += ": complete, nothing is missing, truncated or damaged";
  out += '\n';
  for (const QualityLine& line : lines) {
    out += fmt::format("  {:<19} {}\n", line.name, escape_terminal(line.text));
  }
  out += '\n';
}

void recording_text(const Report& r, const Paint& paint, std::string& out) {
  if (!r.recording.any()) return;
  out += paint("1", "Recording") + '\n';
  for (const RecordingLine& line : recording_lines(r.recording)) {
    out += fmt::format("  {:<10} {}\n", line.name, escape_terminal(line.text));
  }
  out += '\n';
}

// ", 45 RoCE; ICRC 45 good, 0 bad", ", 12 iWARP; CRC 10 good, 0 bad", or both.
std::string transports_text(const roce::PacketStats& p) {
  std::string out;
  const auto truncated = [](std::uint64_t n) {
    return n != 0 ? fmt::format(", {} truncated", n) : std::string();
  };
  if (p.roce != 0 || p.iwarp == 0) {
    out += fmt::format(", {} RoCE; ICRC {} good, {} bad{}", p.roce, p.icrc_good, p.icrc_bad,
                       truncated(p.icrc_unchecked));
  }
  if (p.iwarp != 0) {
    out += fmt::format(", {} iWARP; CRC {} good, {} bad", p.iwarp, p.crc_good, p.crc_bad);
    if (p.crc_unchecked != 0) out += fmt::format(", {} not checked", p.crc_unchecked);
  }
  return out;
}

void capture_text(const Report& r, const Paint& paint, std::string& out) {
  const CaptureSummary& c = r.capture;
  const roce::PacketStats& p = c.packets;
  out += paint("1", "\nCapture");
  if (c.frames == 0) {
    out += ": no packets\n\n";
    return;
  }
  const double seconds = (static_cast<double>(c.last_ns) - static_cast<double>(c.first_ns)) / 1e9;
  if (c.events == c.frames) {
    out += fmt::format(": {} endpoint events in {:.3f} s\n", c.events, seconds);
  } else {
    out += fmt::format(": {}{} in {:.3f} s{}\n", number(c.frames - c.events, "packet", "packets"),
                       c.events != 0 ? fmt::format(" and {} endpoint events", c.events) : "",
                       seconds, transports_text(p));
    if (const std::string paused = rules::paused_text(c.pauses); !paused.empty()) {
      out += fmt::format("  {}\n", escape_terminal(paused));
    }
    if (c.nfs_tcp != 0) {
      out += fmt::format("  {} of NFS over TCP\n", number(c.nfs_tcp, "Call", "Calls"));
    }
  }
  const bool recorded = c.events == c.frames;
  if (recorded && r.recording.only_kernel()) {
    out += fmt::format("  from {} UTC; retransmissions, NAKs and RNR NAKs are not seen\n\n",
                       format_time(c.first_ns));
    recording_text(r, paint, out);
    capture_quality_text(r, paint, out);
    return;
  }
  out += fmt::format(
      "  from {} UTC; {} {}, {} NAK, {} RNR\n\n", format_time(c.first_ns), p.retransmitted,
      recorded ? "retransmitted by the endpoints (retransmissions by their peers are unknown)"
               : "retransmitted",
      p.nak, p.rnr);
  recording_text(r, paint, out);
  capture_quality_text(r, paint, out);
}

std::string named(bool reverse, const std::string& label) {
  return reverse ? fmt::format("reverse {}", label) : label;
}

struct Row {
  const ProcedureKey* key;
  const Procedure* p;
  [[nodiscard]] std::string name() const { return escape_terminal(named(key->reverse, p->label)); }
};

void parts_text(const std::vector<Row>& rows, const Paint& paint, std::string& out) {
  bool header = false;
  for (const Row& row : rows) {
    const Procedure& p = *row.p;
    if (p.data.count() == 0) continue;
    if (!header) {
      out += paint(
          "1", fmt::format("\n{:<32} {:>7} {:>24} {:>24} {:>24}\n", "Latency breakdown", "Calls",
                           "Call to first operation", "operations", "last operation to Reply"));
      header = true;
    }
    const auto pair = [](const base::Histogram& h) {
      const auto high = given_quantile(h, 0.99);
      return fmt::format("{} / {}", format_duration(h.quantile(0.5)),
                         high ? format_duration(*high) : "-");
    };
    out += fmt::format("{:<32} {:>7} {:>24} {:>24} {:>24}\n", row.name(), p.data.count(),
                       pair(p.before_data), pair(p.data), pair(p.after_data));
  }
  if (header) out += "(p50 / p99)\n";
}

void procedures_text(const Report& r, const Paint& paint, std::string& out) {
  if (r.procedures.empty()) return;
  out += paint("1", fmt::format("\n{:<32} {:>7} {:>9} {:>9} {:>9} {:>9} {:>11} {:>12} {:>12}\n",
                                "Procedure", "Calls", "p50", "p90", "p99", "max", "Read chunks",
                                "Write chunks", "Reply chunks"));
  // Linux may not see the operations that moved them.
  const bool unseen = r.recording.only_kernel();
  const auto moved = [unseen](std::uint64_t bytes) {
    return unseen && bytes == 0 ? std::string("-") : format_bytes(bytes);
  };
  std::vector<Row> rows;
  for (const auto& [key, p] : r.procedures) rows.push_back({&key, &p});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.p->calls > b.p->calls; });
  for (const Row& row : rows) {
    const Procedure& p = *row.p;
    out += fmt::format("{:<32} {:>7}", row.name(), p.calls);
    for (const double q : {0.5, 0.9, 0.99}) {
      const auto ns = given_quantile(p.total, q);
      out += fmt::format(" {:>9}", ns ? format_duration(*ns) : "-");
    }
    out += fmt::format(" {:>9} {:>11} {:>12} {:>12}",
                       p.total.count() != 0 ? format_duration(p.total.max()) : "-",
                       moved(p.bytes[0]), moved(p.bytes[1]), moved(p.bytes[2]));
    if (p.unmatched != 0) {
      out += ' ' + unanswered_text(r, p.unmatched, counted_in_flight(r, *row.key)).substr(1);
    }
    if (p.errors != 0) out += fmt::format("  {} errors", p.errors);
    out += '\n';
  }
  parts_text(rows, paint, out);
}

void slowest_text(const Report& r, const Paint& paint, std::string& out) {
  const std::vector<SlowCall>& list = r.slowest.list();
  if (list.empty()) return;
  out += paint("1", fmt::format("\n{:<32} {:>9} {:>9} {:>9} {:>10} {:>10}  {}\n", "Slowest Calls",
                                "latency", "Call", "Reply", "XID", "connection",
                                "Call to operations, operations, to Reply"));
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) {
    const SlowCall& s = list[i];
    out += fmt::format("{:<32} {:>9} {:>9} {:>9} {:#010x} {:>10}",
                       escape_terminal(named(s.reverse, s.label)), format_duration(s.latency_ns),
                       s.frame, s.reply_frame, s.xid, s.connection);
    if (s.data_ns >= 0) {
      out += fmt::format("  {}, {}, {}", format_duration(s.before_data_ns),
                         format_duration(s.data_ns), format_duration(s.after_data_ns));
    }
    out += '\n';
  }
}

}  // namespace

void write_text(const Report& r, const TextOptions& options,
                const std::function<void(std::string_view)>& write) {
  const Paint paint{options.colour};
  std::string out = verdict_text(r, paint);
  if (!r.filter.empty()) {
    out += fmt::format(
        "filter: {}\n  (applies to RPCs and findings on messages, not to connections and "
        "packets)\n",
        escape_terminal(r.filter));
  }
  if (options.by) {
    const std::string table = latency_table_text(r, *options.by, SIZE_MAX, options.colour);
    write(fold(out, options.width) + (table.empty() ? "No Call was answered.\n" : table));
    return;
  }
  findings_text(r, options, false, paint, out);
  capture_text(r, paint, out);
  out = fold(out, options.width);
  if (r.ends) out += fold(ends_text(*r.ends, options.all, options.colour), options.width);
  const std::vector<const Connection*> shown =
      important_connections(r, options.all ? r.connections.size() : kConnectionsShown);
  if (const std::string slow = who_is_slow(r, options.colour); !slow.empty()) {
    out += slow.substr(1) + '\n';
  }
  const InFlight flying = in_flight(r);
  if (shown.size() < r.connections.size()) {
    out +=
        fmt::format("{} connections; the {} most important:\n", r.connections.size(), shown.size());
  }
  for (const Connection* connection : shown) {
    connection_text(out, r, *connection, flying, paint);
    write(out);
    out.clear();
  }
  if (shown.size() < r.connections.size()) {
    out += fmt::format("and {} more connections (--all lists them)\n",
                       r.connections.size() - shown.size());
  }
  if (r.not_listed.connections != 0) {
    const Direction& forward = r.not_listed.direction[0];
    const Direction& reverse = r.not_listed.direction[1];
    out += fmt::format(
        "{} more connections are not listed; in total {} packets, {} messages, {} Calls, "
        "{} without an answer\n",
        r.not_listed.connections, r.not_listed.packets, r.not_listed.messages,
        forward.calls + reverse.calls, forward.unmatched_calls + reverse.unmatched_calls);
  }
  if (r.connections.empty()) out += "No RDMA connection.\n";
  out += fold(mounts_text(r, options.all, [&](const std::string& t) { return paint("1", t); }),
              options.width);
  procedures_text(r, paint, out);
  slowest_text(r, paint, out);
  files_text(r, options.files, options.colour, out);
  std::string quirks;
  findings_text(r, options, true, paint, quirks);
  out += fold(quirks, options.width);
  write(out);
}

void write_verdict(const Report& r, const TextOptions& options,
                   const std::function<void(std::string_view)>& write) {
  write(fold(verdict_text(r, Paint{options.colour}), options.width));
}

}  // namespace rpcrdma::report
