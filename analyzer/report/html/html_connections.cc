#include "html.h"
#include "importance.h"

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;

std::string end_text(const EndPoint& e) {
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
  return out;
}

std::string setup_text(const Connection& c) {
  std::string out = c.by_cm ? fmt::format("frame {}", c.side[0].cm_frame) : "before the capture";
  if (c.by_cm && wire::is_rdma_ip_service(c.service_id)) {
    out += fmt::format(", port {}", wire::service_port(c.service_id));
  }
  if (c.path_mtu != 0) out += fmt::format(", MTU {}", c.path_mtu);
  if (c.roles == Roles::kUnknown) out += ", roles unknown";
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
  return section("connections", "Connections", body);
}

}  // namespace rpcrdma::report::html
