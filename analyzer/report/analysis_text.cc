#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/report/analysis.h>

namespace rpcrdma::report {

namespace {

struct Paint {
  bool on;
  [[nodiscard]] std::string operator()(const char* code, const std::string& text) const {
    return on ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }
};

std::string end_text(const roce::Side& side) {
  return side.qpn_known ? fmt::format("{} QP {}", side.address.to_string(), side.qpn)
                        : side.address.to_string() + " QP ?";
}

std::string ledger_text(const model::CallerCounts& c) {
  return fmt::format("requested {}, granted {}, in use at most {}", c.credits.requested,
                     c.credits.granted, c.in_use_max);
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

std::string private_data_text(const model::ConnectionModel& m, std::size_t side) {
  if (!m.has_private_data[side]) return "none";
  const wire::PrivateData& p = m.private_data[side];
  return fmt::format("send {}, receive {}, remote invalidation {}", format_bytes(p.send_size()),
                     format_bytes(p.recv_size()), p.remote_invalidation() ? "yes" : "no");
}

void connection_text(std::string& out, const roce::Connection& c, const model::ConnectionModel& m,
                     const Paint& paint) {
  const std::size_t client = m.client >= 0 ? static_cast<std::size_t>(m.client) : 0;
  const std::size_t server = 1 - client;
  out += paint("1", fmt::format("Connection {}", c.index + 1));
  out +=
      fmt::format(": client {} - server {}\n", end_text(c.side[client]), end_text(c.side[server]));
  std::string setup = "begins before the capture";
  if (c.setup == roce::Setup::kCm) {
    setup = fmt::format("frame {}", c.side[0].cm.frame);
    if (wire::is_rdma_ip_service(c.service_id)) {
      setup += fmt::format(", port {}", wire::service_port(c.service_id));
    }
  }
  if (c.path_mtu != 0) setup += fmt::format(", path MTU {}", c.path_mtu);
  if (m.client < 0) setup += ", which side is the client is not known";
  out += fmt::format("  set-up     {}\n", setup);
  if (c.state == roce::State::kRejected) {
    out +=
        fmt::format("  refused    by {}: {}\n",
                    static_cast<std::size_t>(c.closed_by) == client ? "the client" : "the server",
                    wire::cm_rej_reason(c.reject_reason));
  } else if (c.closed_by >= 0) {
    out += fmt::format("  closed     by the {}, frame {}\n",
                       static_cast<std::size_t>(c.closed_by) == client ? "client" : "server",
                       c.closed_frame);
  }
  if (m.speaks != model::Speaks::kRpc) {
    out += fmt::format("  protocol   {}; {} SENDs, {} + {} packets\n",
                       m.sends != 0 ? "not RPC-over-RDMA" : "no SEND seen", m.sends,
                       c.side[client].counters.packets, c.side[server].counters.packets);
    return;
  }
  out += fmt::format("  protocol   RPC-over-RDMA version {}, {} messages", m.version, m.messages);
  if (m.malformed != 0) out += fmt::format(", {} malformed", m.malformed);
  out += '\n';
  if (c.setup == roce::Setup::kCm) {
    out += fmt::format("  private    client: {}; server: {}\n", private_data_text(m, client),
                       private_data_text(m, server));
    out += fmt::format("  thresholds Calls {}, Replies {}\n", format_bytes(m.thresholds.call),
                       format_bytes(m.thresholds.reply));
  }
  const auto direction = [&](const char* name, const model::CallerCounts& k) {
    if (k.calls == 0 && k.unmatched_replies == 0) return;
    out += fmt::format("  {:<10} {} Calls, {} Replies", name, k.calls, k.replies);
    if (k.errors != 0) out += fmt::format(", {} RDMA_ERRORs", k.errors);
    if (k.unmatched_calls != 0) out += fmt::format(", {} Calls without answer", k.unmatched_calls);
    if (k.unmatched_replies != 0) {
      out += fmt::format(", {} Replies without Call", k.unmatched_replies);
    }
    out += fmt::format("; credits {}\n", ledger_text(k));
  };
  direction("forward", m.caller[client]);
  direction("reverse", m.caller[server]);
  constexpr const char* kLists[] = {"Read", "Write", "Reply"};
  std::string chunks;
  for (std::size_t i = 0; i < 3; ++i) {
    if (m.chunks[i] == 0) continue;
    chunks += fmt::format("{}{} {} chunks {}", chunks.empty() ? "" : ", ", m.chunks[i], kLists[i],
                          format_bytes(m.chunk_bytes[i]));
  }
  out += fmt::format("  moved      {}{}inline {}\n", chunks, chunks.empty() ? "" : ", ",
                     format_bytes(m.inline_bytes));
  std::string trouble;
  for (std::size_t s = 0; s < 2; ++s) {
    const roce::SideCounters& k = c.side[s].counters;
    const auto item = [&](std::uint64_t n, const char* what) {
      if (n == 0) return;
      trouble += fmt::format("{}{} {} by the {}", trouble.empty() ? "" : ", ", n, what,
                             s == client ? "client" : "server");
    };
    item(k.retransmitted, "packets sent again");
    item(k.lost_network, "lost in the network");
    item(k.lost_capture, "missing in the capture");
    item(k.reordered, "out of order");
    item(k.rnr, "RNR NAKs");
    for (std::size_t n = 0; n < k.naks.size(); ++n) {
      if (k.naks[n] != 0) {
        item(k.naks[n],
             fmt::format("NAKs ({})", wire::nak_name(static_cast<std::uint8_t>(n))).c_str());
      }
    }
  }
  if (!trouble.empty()) out += fmt::format("  packets    {}\n", trouble);
}

}  // namespace

void Analysis::write_text(bool colour, const Write& write) const {
  const Paint paint{colour};
  const roce::PacketStats& p = pipeline_->tracker().stats();
  const FrameCounts& f = pipeline_->frames();
  std::string out;

  out += paint("1", "Capture") +
         fmt::format(": {} packets in {:.3f} s, {} RoCE; ICRC {} good, {} bad{}\n", f.total,
                     static_cast<double>(f.last_ns - f.first_ns) / 1e9, p.roce, p.icrc_good,
                     p.icrc_bad,
                     p.icrc_unchecked != 0 ? fmt::format(", {} cut short", p.icrc_unchecked) : "");
  out += fmt::format("  from {} UTC; {} retransmitted, {} NAK, {} RNR\n", format_time(f.first_ns),
                     p.retransmitted, p.nak, p.rnr);

  out += paint("1", "\nFindings");
  if (findings_.list().empty()) out += ": none";
  out += '\n';
  for (const rules::Finding& x : findings_.list()) {
    const char* code = x.severity == rules::Severity::kError     ? "31"
                       : x.severity == rules::Severity::kWarning ? "33"
                                                                 : "36";
    out += fmt::format("  {} {}{}{}: {}", paint(code, rules::severity_name(x.severity)), x.rule,
                       x.connection != 0 ? fmt::format(", connection {}", x.connection) : "",
                       x.peer.empty()   ? ""
                       : x.role.empty() ? ", " + x.peer
                                        : fmt::format(", {} {}", x.role, x.peer),
                       x.text);
    const std::string frames = frames_text(x.frames, x.count);
    if (!frames.empty()) out += fmt::format(" ({})", frames);
    out += fmt::format("\n    {}\n", x.advice);
  }
  for (const rules::Withheld& w : findings_.withheld()) {
    out += fmt::format("  withheld {}, connection {}: {} times, since {}\n", w.rule, w.connection,
                       w.count, w.reason);
  }
  if (omitted() != 0) out += fmt::format("  and {} more that are not listed\n", omitted());

  out += '\n';
  for (std::size_t i = 0; i < pipeline_->tracker().connection_count(); ++i) {
    const roce::Connection& c = pipeline_->tracker().connection(i);
    if (c.merged_away) continue;
    connection_text(out, c, pipeline_->model().connection(c.index), paint);
    write(out);
    out.clear();
  }
  if (pipeline_->tracker().connection_count() == 0) out += "No RDMA connection.\n";

  if (!procedures_.empty()) {
    out += paint("1",
                 fmt::format("\n{:<32} {:>7} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}\n", "Procedure",
                             "Calls", "p50", "p90", "p99", "max", "read", "written"));
    std::vector<const ProcedureStats*> rows;
    for (const auto& [key, s] : procedures_) rows.push_back(&s);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto* a, const auto* b) { return a->calls > b->calls; });
    for (const ProcedureStats* s : rows) {
      const bool any = s->total.count() != 0;
      const auto q = [&](double v) { return any ? format_duration(s->total.quantile(v)) : "-"; };
      std::string name = (s->reverse ? "reverse " : "") + s->label;
      out +=
          fmt::format("{:<32} {:>7} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}", name, s->calls, q(0.5),
                      q(0.9), q(0.99), any ? format_duration(s->total.max()) : "-",
                      format_bytes(s->read_bytes), format_bytes(s->write_bytes + s->reply_bytes));
      if (s->unmatched != 0) out += fmt::format("  {} without answer", s->unmatched);
      if (s->errors != 0) out += fmt::format("  {} errors", s->errors);
      out += '\n';
    }
    bool header = false;
    for (const ProcedureStats* s : rows) {
      if (s->data.count() == 0) continue;
      if (!header) {
        out += paint("1", fmt::format("\n{:<32} {:>7} {:>24} {:>24} {:>24}\n",
                                      "Where the time went", "Calls", "Call to first operation",
                                      "operations", "last operation to Reply"));
        header = true;
      }
      const auto pair = [](const model::Histogram& h) {
        return fmt::format("{} / {}", format_duration(h.quantile(0.5)),
                           format_duration(h.quantile(0.99)));
      };
      out += fmt::format("{:<32} {:>7} {:>24} {:>24} {:>24}\n",
                         (s->reverse ? "reverse " : "") + s->label, s->data.count(),
                         pair(s->before_data), pair(s->data), pair(s->after_data));
    }
    if (header) out += "(p50 / p99)\n";
  }
  write(out);
}

}  // namespace rpcrdma::report
