// Mounts and sessions: a row each, and the data servers of pNFS.
#include "html.h"
#include "text/sessions_text.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;

std::string data_servers(const Report& r, std::size_t shown) {
  Table table("Data servers");
  table.column("Metadata server", Align::kLeft)
      .column("Data server", Align::kLeft, "As GETDEVICEINFO named it")
      .column("Port", Align::kRight)
      .column("Transport", Align::kLeft, "The netid of its address")
      .column("Connections", Align::kLeft, "To its address, in this capture")
      .column("READs", Align::kRight)
      .column("WRITEs", Align::kRight);
  for (std::size_t i = 0; i < shown; ++i) {
    const mounts::Mount& m = r.mounts.list[i];
    for (const mounts::DataServer& s : m.layouts.servers) {
      table.row();
      table.cell(m.server);
      table.cell(s.address);
      table.cell(s.port ? std::to_string(*s.port) : "");
      table.cell(s.rdma ? fmt::format("RDMA ({})", s.netid) : s.netid);
      std::string ids;
      for (const std::uint64_t id : s.connections) {
        ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id);
      }
      table.cell(ids);
      table.count(s.reads);
      table.count(s.writes);
    }
  }
  return table.take();
}

}  // namespace

std::string sessions(const Report& r) {
  if (!r.mounts.any()) return {};
  Table table("Mounts and sessions");
  table.column("Version", Align::kLeft)
      .column("Client", Align::kLeft)
      .column("Server", Align::kLeft)
      .column("Connections", Align::kLeft)
      .column("Calls", Align::kRight)
      .column("Slots", Align::kRight, "Most in use / negotiated")
      .column("Credits", Align::kRight, "Most in use on one connection / granted on all")
      .column("Limit", Align::kLeft, "Which of the two limits held Calls back")
      .column("Backchannel", Align::kLeft)
      .column("Layouts", Align::kLeft)
      .column("Identity", Align::kLeft);
  constexpr std::size_t kMost = 100;
  const std::size_t shown = std::min(r.mounts.list.size(), kMost);
  for (std::size_t i = 0; i < shown; ++i) {
    const mounts::Mount& m = r.mounts.list[i];
    table.row();
    table.cell(mounts::version_text(m));
    table.cell(m.client);
    table.cell(m.server);
    table.cell(mount_connections_text(m));
    table.count(m.calls);
    table.cell(
        m.slots && m.slots_in_use_max ? fmt::format("{} / {}", *m.slots_in_use_max, *m.slots) : "",
        m.slots_in_use_max.value_or(0));
    table.cell(m.credits_granted() != 0
                   ? fmt::format("{} / {}", m.credits_in_use_max(), m.credits_granted())
                   : "",
               m.credits_in_use_max());
    table.cell(mount_limit_text(m));
    table.cell(mount_backchannel_text(m));
    table.cell(mount_layouts_text(m));
    table.cell(mount_identity_text(m));
  }
  std::string body = table.take() + data_servers(r, shown);
  if (shown < r.mounts.list.size()) {
    body += aside(fmt::format("{} mounts; these are the first {}.", r.mounts.list.size(), shown));
  }
  if (r.mounts.omitted_calls != 0) {
    body += aside(fmt::format("{} Calls of more mounts than are listed.", r.mounts.omitted_calls));
  }
  if (r.mounts.not_followed != 0) {
    body += aside(fmt::format("{} Calls of sessions or layouts beyond a limit, not followed.",
                              r.mounts.not_followed));
  }
  return section("sessions", "Mounts and sessions", body);
}

}  // namespace rpcrdma::report::html
