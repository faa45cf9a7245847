#include "sessions_csv.h"

#include "csv_row.h"
#include "text/plain_values.h"

#include <string>

#include <fmt/format.h>

namespace rpcrdma::report {

namespace {

// "1 2 5"; `wanted(connection)` chooses.
template <typename Wanted>
std::string id_list(const mounts::Mount& m, const Wanted& wanted) {
  std::string ids;
  for (const mounts::MountConnection& c : m.connections) {
    if (wanted(c)) ids += fmt::format("{}{}", ids.empty() ? "" : " ", c.id);
  }
  return ids;
}

std::string servers_text(const mounts::Layouts& l) {
  std::string text;
  for (const mounts::DataServer& s : l.servers) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", s.netid, s.address,
                        s.port ? fmt::format(" {}", *s.port) : "");
  }
  return text;
}

}  // namespace

void write_sessions_csv(const Report& r, const std::function<void(std::string_view)>& write) {
  CsvRow row;
  for (const char* const name : {"version",
                                 "minor_version",
                                 "client",
                                 "server",
                                 "session",
                                 "connections",
                                 "calls",
                                 "replies",
                                 "slots",
                                 "slots_in_use_max",
                                 "slots_full_times",
                                 "slots_full_us",
                                 "credits_granted",
                                 "credits_in_use_max",
                                 "credits_full_times",
                                 "credits_full_us",
                                 "limit",
                                 "backchannel_connections",
                                 "callbacks",
                                 "last_callback_time_ns",
                                 "last_callback",
                                 "backchannel_down_replies",
                                 "layouts",
                                 "mds_reads",
                                 "mds_writes",
                                 "data_servers"}) {
    row.text(name);
  }
  write(row.take());
  for (const mounts::Mount& m : r.mounts.list) {
    row.number(m.version).number(m.minor).text(m.client).text(m.server).text(m.session);
    row.text(id_list(m, [](const auto&) { return true; })).number(m.calls).number(m.replies);
    row.number(m.slots).number(m.slots_in_use_max);
    row.number(m.slots_full.count).number(static_cast<double>(m.slots_full.ns) / 1e3);
    row.number(m.credits_granted()).number(m.credits_in_use_max());
    row.number(m.credits_full.count).number(static_cast<double>(m.credits_full.ns) / 1e3);
    row.text(mounts::limit_name(m.limit()));
    row.text(id_list(m, [](const auto& c) { return c.back_bound || c.callbacks != 0; }));
    const mounts::Backchannel& b = m.backchannel;
    row.number(b.callbacks);
    b.last ? row.number(b.last->time_ns).text(b.last->operation) : row.none().none();
    row.number(b.down_replies).number(m.layouts.granted);
    row.number(m.layouts.mds_reads).number(m.layouts.mds_writes).text(servers_text(m.layouts));
    write(row.take());
  }
}

}  // namespace rpcrdma::report
