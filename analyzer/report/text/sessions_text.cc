#include "sessions_text.h"

#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

using mounts::Mount;

constexpr std::size_t kMountsShown = 20;
constexpr std::size_t kIdsShown = 16;

std::string plural(std::uint64_t n, const char* one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string ids_text(const std::vector<std::uint64_t>& ids) {
  std::string out;
  for (std::size_t i = 0; i < std::min(ids.size(), kIdsShown); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", ids[i]);
  }
  if (ids.size() > kIdsShown) {
    out += fmt::format(" and {} more", ids.size() - kIdsShown);
  }
  return out;
}

std::string listed_connections(const std::vector<std::uint64_t>& ids) {
  return fmt::format("connection{} {}", ids.size() == 1 ? "" : "s", ids_text(ids));
}

std::string spell_text(const mounts::Spells& s) {
  return fmt::format(
      "{}, {} in all", plural(s.count, "time"),
      format_duration(static_cast<std::int64_t>(std::min<std::uint64_t>(s.ns, INT64_MAX))));
}

std::string use_text(const char* name, std::uint64_t most, std::uint64_t all,
                     const mounts::Spells& full) {
  if (full.count != 0) {
    return fmt::format("{}: all {} in use {}", name, all, spell_text(full));
  }
  return fmt::format("{}: at most {} of {} in use", name, most, all);
}

// One connection's credits are what a Call waits for.
std::string credit_use_text(const Mount& m) {
  const std::uint64_t granted = m.credits_granted();
  if (granted == 0) return "credits: no grant seen";
  std::uint32_t of_one = 0;
  for (const mounts::MountConnection& c : m.connections)
    of_one = std::max(of_one, c.credits_granted);
  std::string text = use_text("credits", m.credits_in_use_max(), of_one, m.credits_full);
  if (m.connections.size() > 1) {
    text +=
        fmt::format(" on one of {} connections ({} granted in all)", m.connections.size(), granted);
  }
  return text;
}

std::string down_flags(const mounts::Backchannel& b) {
  constexpr std::uint32_t kDown =
      decode::kCbPathDown | decode::kCbPathDownSession | decode::kBackchannelFault;
  std::string flags;
  for (const std::string& name : mounts::status_flag_names(b.status_flags & kDown)) {
    flags += fmt::format("{}{}", flags.empty() ? "" : ", ", name);
  }
  return flags;
}

}  // namespace

std::string backchannel_down_text(const Mount& m) {
  std::string held;
  if (m.delegations != 0) held = plural(m.delegations, "delegation");
  if (m.layouts.granted != 0) {
    held += fmt::format("{}{}", held.empty() ? "" : " and ", plural(m.layouts.granted, "layout"));
  }
  return fmt::format(
      "the server {} reported that callbacks of session {} do not get through: {}{}{}", m.server,
      m.session, down_flags(m.backchannel),
      held.empty() ? "" : fmt::format("; it granted {}", held),
      m.backchannel.down_at_end ? "" : "; later Replies do not report it");
}

std::string mount_connections_text(const Mount& m) {
  std::vector<std::uint64_t> ids;
  for (const mounts::MountConnection& c : m.connections) ids.push_back(c.id);
  std::string text = ids_text(ids);
  if (m.more_connections != 0) text += fmt::format(" and {} not listed", m.more_connections);
  return text;
}

std::string mount_limit_text(const Mount& m) {
  if (m.replies == 0) return "unknown: no Reply was captured";
  std::string text;
  switch (m.limit()) {
    case mounts::Limit::kNone:
      text = m.session.empty() ? "not reached; " : "neither slots nor credits; ";
      break;
    case mounts::Limit::kSlots:
      text = "the slots of the session; ";
      break;
    case mounts::Limit::kCredits:
      text = "the credits; ";
      break;
    case mounts::Limit::kBoth:
      text = "slots and credits alike; ";
      break;
    case mounts::Limit::kUnknown:
      break;
  }
  if (m.slots && m.slots_in_use_max) {
    text += use_text("slots", *m.slots_in_use_max, *m.slots, m.slots_full) + "; ";
  }
  if (m.slots_beyond != 0) {
    text += fmt::format("{} beyond slot {} not followed; ", plural(m.slots_beyond, "Call"),
                        mounts::kMaxSlots - 1);
  }
  return text + credit_use_text(m);
}

std::string mount_backchannel_text(const Mount& m) {
  if (m.version != 4) return {};
  const mounts::Backchannel& b = m.backchannel;
  std::vector<std::uint64_t> bound;
  std::vector<std::uint64_t> used;
  for (const mounts::MountConnection& c : m.connections) {
    if (c.back_bound) bound.push_back(c.id);
    if (c.callbacks != 0) used.push_back(c.id);
  }
  std::string text;
  if (!bound.empty()) {
    text = listed_connections(bound) + ", over RDMA";
  } else if (!used.empty()) {
    text = listed_connections(used) + ", over RDMA (its set-up was not captured)";
  } else if (!b.address.empty()) {
    text = fmt::format("{} over {}, by SETCLIENTID", b.address, b.netid);
  } else if (m.session.empty()) {
    text = "not seen";
  } else if (b.requested && !*b.requested) {
    text = "none: CREATE_SESSION did not ask for one, and no captured connection was bound later";
  } else if (b.granted && !*b.granted) {
    text = "none: the server did not bind it in CREATE_SESSION, and no captured connection later";
  } else {
    text = "not seen: the session was created before the capture, or on another connection";
  }
  if (b.callbacks == 0) {
    text += "; no callback";
  } else {
    text += fmt::format("; {}, {} answered", plural(b.callbacks, "callback"), b.answered);
    if (b.last) {
      text += fmt::format(", last {}{} at {}, frame {}",
                          b.last->operation.empty() ? "unreadable" : b.last->operation,
                          b.last->status.empty() ? "" : fmt::format(" ({})", b.last->status),
                          format_clock(b.last->time_ns), b.last->frame);
    }
  }
  if (b.down_replies != 0) {
    text += fmt::format("; the server reported it down: {} in {} of {} Replies{}", down_flags(b),
                        b.down_replies, m.replies, b.down_at_end ? ", also in the last one" : "");
  }
  return text;
}

std::string mount_layouts_text(const Mount& m) {
  const mounts::Layouts& l = m.layouts;
  if (!l.any()) return {};
  std::string types;
  for (std::size_t type = 0; type < l.types.size(); ++type) {
    if (l.types[type] == 0) continue;
    const char* const name = decode::layout_type_name(static_cast<std::uint32_t>(type));
    types += fmt::format("{}{}", types.empty() ? "" : ", ", name != nullptr ? name : "other");
  }
  std::string text = fmt::format("{} granted", l.granted);
  if (!types.empty()) text += fmt::format(" ({})", types);
  if (l.refused != 0) text += fmt::format(", {} refused ({})", l.refused, l.last_refusal);
  if (l.returned != 0) text += fmt::format(", {} returned", l.returned);
  if (l.recalled != 0) text += fmt::format(", {} recalled", l.recalled);
  if (l.errors != 0) text += fmt::format(", {}", plural(l.errors, "LAYOUTERROR"));
  if (l.granted != 0) {
    text += fmt::format("; {} and {} of files with a layout went to the MDS",
                        plural(l.mds_reads, "READ"), plural(l.mds_writes, "WRITE"));
  }
  if (l.not_followed != 0)
    text += fmt::format("; {} not followed", plural(l.not_followed, "layout"));
  return text;
}

std::string data_server_text(const mounts::DataServer& s) {
  std::string text =
      fmt::format("{}{} over {}", s.address, s.port ? fmt::format(" port {}", *s.port) : "",
                  s.rdma ? "RDMA" : s.netid);
  if (!s.rdma) return text + ": not captured as RDMA";
  if (s.connections.empty()) return text + ": no connection to it in this capture";
  return text + fmt::format(": {}, {}, {}", listed_connections(s.connections),
                            plural(s.reads, "READ"), plural(s.writes, "WRITE"));
}

std::string mount_identity_text(const Mount& m) {
  std::string text;
  const auto add = [&](const std::string& part) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", part);
  };
  if (!m.session.empty()) add(m.session);
  if (m.created_frame != 0) add(fmt::format("created in frame {}", m.created_frame));
  if (m.destroyed_frame != 0) add(fmt::format("destroyed in frame {}", m.destroyed_frame));
  if (m.client_id) add(fmt::format("client ID {:#018x}", *m.client_id));
  if (!m.client_owner.empty()) add(fmt::format("client owner \"{}\"", m.client_owner));
  if (!m.server_owner.empty()) add(fmt::format("server owner \"{}\"", m.server_owner));
  if ((m.exchange_flags & decode::kUsePnfsMds) != 0) add("pNFS metadata server");
  if ((m.exchange_flags & decode::kUsePnfsDs) != 0) add("pNFS data server");
  for (const mounts::Export& e : m.exports) add(fmt::format("export {}", e.path));
  return text;
}

std::string mounts_text(const Report& r, bool all,
                        const std::function<std::string(const std::string&)>& bold) {
  if (!r.mounts.any()) return {};
  std::string out = bold("\nMounts and sessions") + '\n';
  const auto line = [&](const char* name, const std::string& text) {
    if (!text.empty()) out += fmt::format("    {:<12} {}\n", name, plot::escape_terminal(text));
  };
  const std::vector<Mount>& list = r.mounts.list;
  const std::size_t shown = all ? list.size() : std::min(list.size(), kMountsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Mount& m = list[i];
    out += plot::escape_terminal(fmt::format(
               "  {}: client {} - server {}, connection{} {}; {}, {} answered",
               mounts::version_text(m), m.client, m.server, m.connections.size() == 1 ? "" : "s",
               mount_connections_text(m), plural(m.calls, "Call"), m.replies)) +
           '\n';
    line(m.session.empty() ? "mount" : "session", mount_identity_text(m));
    line("limit", mount_limit_text(m));
    line("backchannel", mount_backchannel_text(m));
    line("layouts", mount_layouts_text(m));
    for (const mounts::DataServer& s : m.layouts.servers) line("data server", data_server_text(s));
    if (m.layouts.more_servers != 0) {
      line("data server", fmt::format("and {} more, not listed", m.layouts.more_servers));
    }
  }
  if (shown < list.size()) {
    out += fmt::format("  and {} more mounts (--all lists them)\n", list.size() - shown);
  }
  if (r.mounts.omitted_calls != 0) {
    out += fmt::format("  {} of more mounts than are listed\n",
                       plural(r.mounts.omitted_calls, "Call"));
  }
  if (r.mounts.not_followed != 0) {
    out += fmt::format("  {} of sessions or layouts beyond a limit, not followed\n",
                       plural(r.mounts.not_followed, "Call"));
  }
  return out;
}

}  // namespace rpcrdma::report
