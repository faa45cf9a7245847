#include "html.h"
#include "importance.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/view_text.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;

std::string end_text(const EndPoint& e) {
  if (e.port) return fmt::format("{} port {}", e.address, *e.port);
  return e.qpn ? fmt::format("{} QP {}", e.address, *e.qpn) : fmt::format("{} QP ?", e.address);
}

std::string protocol_text(const Connection& c) {
  if (c.speaks == model::Speaks::kRpc) {
    const std::string dialect = c.dialect.name.empty() ? "" : fmt::format(" ({})", c.dialect.name);
    return c.version != 0 ? fmt::format("RPC-over-RDMA v{}{}", c.version, dialect)
                          : "RPC-over-RDMA";
  }
  return c.sends != 0 ? "other" : "no Send seen";
}

std::string state_text(const Connection& c) {
  std::string out = state_name(c.state);
  if (c.closed_by >= 0) out += c.closed_by == 0 ? " by the client" : " by the server";
  if (!c.reject_reason.empty()) out += ": " + c.reject_reason;
  if (!c.reject_data.empty()) out += "; private data " + c.reject_data;
  return out;
}

std::string setup_text(const Connection& c) {
  std::string out = c.by_cm ? fmt::format("frame {}", c.side[0].cm_frame) : "before the capture";
  if (c.transport == roce::Transport::kIwarp) {
    out += c.by_cm ? fmt::format(", iWARP, MPA revision {}", c.mpa_revision) : ", iWARP";
  } else if (c.by_cm && wire::is_rdma_ip_service(c.service_id)) {
    out += fmt::format(", port {}", wire::service_port(c.service_id));
  }
  if (c.path_mtu != 0) out += fmt::format(", MTU {}", c.path_mtu);
  if (c.roles == Roles::kUnknown) out += ", roles unknown";
  for (const Tunnels& t : c.tunnels) {
    out += fmt::format("; {}: {}", t.from_server ? "server" : "client", tunnels_text(t));
  }
  return out;
}

std::string private_data_text(const Connection& c) {
  std::string out;
  for (std::size_t s = 0; s < 2; ++s) {
    if (!c.side[s].private_data) continue;
    const PrivateData& p = *c.side[s].private_data;
    out += fmt::format("{}{}: send {}, receive {}{}", out.empty() ? "" : "; ",
                       s == 0 ? "client" : "server", format_bytes(p.send_size),
                       format_bytes(p.receive_size),
                       p.remote_invalidation ? ", remote invalidation" : "");
  }
  return out;
}

std::string credits_text(const Direction& d) {
  if (d.calls == 0) return "";
  const auto text = [](bool known, std::uint32_t credits) {
    return known ? std::to_string(credits) : std::string("?");
  };
  return fmt::format("{} / {} / {}", text(d.requested_known, d.requested),
                     text(d.granted_known, d.granted), d.in_use_max);
}

// The file that the connection's row comes from, and the views in others.
std::string views_table(const Report& r, const std::vector<const Connection*>& shown) {
  if (std::none_of(r.connections.begin(), r.connections.end(),
                   [](const Connection& c) { return !c.views.empty(); })) {
    return {};
  }
  Table table("Views of the same connection");
  table.column("Connection", Align::kRight)
      .column("Shown by", Align::kLeft)
      .column("Also in", Align::kLeft)
      .column("Comparison", Align::kLeft);
  for (const Connection* c : shown) {
    for (const session::View& v : c->views) {
      table.row();
      table.count(c->id);
      table.cell(c->file);
      table.cell(view_name(v));
      std::string text;
      for (const std::string& part : view_text(v))
        text += fmt::format("{}{}", text.empty() ? "" : "; ", part);
      table.cell(text);
    }
  }
  return table.take();
}

}  // namespace

std::string connections(const Report& r) {
  Table table("Connections");
  table.column("#", Align::kRight)
      .column("Client", Align::kLeft)
      .column("Server", Align::kLeft)
      .column("Protocol", Align::kLeft)
      .column("Calls", Align::kRight)
      .column("Replies", Align::kRight)
      .column("Errors", Align::kRight, "RDMA_ERRORs")
      .column("No answer", Align::kRight, "Calls without an answer")
      .column("Credits", Align::kRight, "Last requested / last granted / most in use")
      .column("Reverse Calls", Align::kRight, "Calls of the server")
      .column("Reverse credits", Align::kRight)
      .column("Chunk bytes", Align::kRight)
      .column("Inline bytes", Align::kRight)
      .column("Packets", Align::kRight)
      .column("Retransmitted", Align::kRight)
      .column("Set-up", Align::kLeft)
      .column("Private data", Align::kLeft)
      .column("Final state", Align::kLeft);
  const auto shown = important_connections(r, kMostConnections);
  for (const Connection* c : shown) {
    const auto& [forward, reverse] = c->direction;
    table.row();
    table.markup(fmt::format("<span id=\"c{}\">{}</span>", c->id, c->id));
    for (const EndPoint& e : c->side) table.cell(end_text(e));
    table.cell(protocol_text(*c));
    table.count(forward.calls);
    table.count(forward.replies);
    table.count(forward.errors + reverse.errors);
    table.count(forward.unmatched_calls + reverse.unmatched_calls);
    table.cell(credits_text(forward), forward.in_use_max);
    table.count(reverse.calls);
    table.cell(credits_text(reverse), reverse.in_use_max);
    std::uint64_t moved = 0;
    for (const std::uint64_t n : c->chunk_bytes) moved += n;
    table.cell(moved != 0 ? format_bytes(moved) : "", static_cast<double>(moved));
    table.cell(c->inline_bytes != 0 ? format_bytes(c->inline_bytes) : "",
               static_cast<double>(c->inline_bytes));
    table.count(c->side[0].counters.packets + c->side[1].counters.packets);
    table.count(c->side[0].counters.retransmitted + c->side[1].counters.retransmitted);
    table.cell(setup_text(*c));
    table.cell(private_data_text(*c));
    table.cell(state_text(*c));
  }
  std::string body = table.take();
  if (body.empty()) body = "<p>No RDMA connection.</p>\n";
  if (shown.size() < r.connections.size()) {
    body += aside(fmt::format("{} connections; these are the {} most important.",
                              r.connections.size(), shown.size()));
  }
  if (r.not_listed.connections != 0) {
    body += aside(fmt::format("{} more connections are not listed; they are in the totals.",
                              r.not_listed.connections));
  }
  body += views_table(r, shown);
  return section("connections", "Connections", body);
}

}  // namespace rpcrdma::report::html
