#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/mounts/mounts.h>

namespace rpcrdma::mounts {

namespace {

template <typename T>
void later(std::optional<T>& to, std::optional<T>& from) {
  if (from) to = std::move(from);
}

void later(std::string& to, std::string& from) {
  if (!from.empty()) to = std::move(from);
}

void join(MountConnection& to, const MountConnection& from) {
  to.fore |= from.fore;
  to.back_bound |= from.back_bound;
  to.calls += from.calls;
  to.callbacks += from.callbacks;
  to.reads += from.reads;
  to.writes += from.writes;
  if (from.credits_granted != 0) to.credits_granted = from.credits_granted;
  to.credits_in_use_max = std::max(to.credits_in_use_max, from.credits_in_use_max);
}

void add_backchannel(Backchannel& to, Backchannel& from, bool later_replies) {
  later(to.requested, from.requested);
  later(to.granted, from.granted);
  to.callbacks += from.callbacks;
  to.answered += from.answered;
  later(to.last, from.last);
  to.down_replies += from.down_replies;
  if (to.down_first_frame == 0) to.down_first_frame = from.down_first_frame;
  to.down_last_frame = std::max(to.down_last_frame, from.down_last_frame);
  if (later_replies) to.down_at_end = from.down_at_end;
  to.status_flags |= from.status_flags;
  later(to.netid, from.netid);
  later(to.address, from.address);
}

void add_layouts(Layouts& to, Layouts& from) {
  to.granted += from.granted;
  to.refused += from.refused;
  later(to.last_refusal, from.last_refusal);
  to.returned += from.returned;
  to.recalled += from.recalled;
  to.errors += from.errors;
  for (std::size_t i = 0; i < to.types.size(); ++i) to.types[i] += from.types[i];
  to.mds_reads += from.mds_reads;
  to.mds_writes += from.mds_writes;
  to.more_servers += from.more_servers;
  to.not_followed += from.not_followed;
  for (DataServer& s : from.servers) {
    const auto known = std::find_if(to.servers.begin(), to.servers.end(), [&](const DataServer& k) {
      return k.netid == s.netid && k.address == s.address && k.port == s.port;
    });
    if (known != to.servers.end()) {
      known->devices += s.devices;
    } else if (to.servers.size() < kMaxDataServers) {
      to.servers.push_back(std::move(s));
    } else {
      ++to.more_servers;
    }
  }
}

}  // namespace

const char* limit_name(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "none";
    case Limit::kSlots:
      return "slots";
    case Limit::kCredits:
      return "credits";
    case Limit::kBoth:
      return "both";
    case Limit::kUnknown:
      return "unknown";
  }
  return "";
}

Limit Mount::limit() const {
  if (calls == 0 || replies == 0) return Limit::kUnknown;
  const bool by_slots = slots_full.count != 0;
  const bool by_credits = credits_full.count != 0;
  if (by_slots && by_credits) {
    if (slots_full.ns > 2 * credits_full.ns) return Limit::kSlots;
    if (credits_full.ns > 2 * slots_full.ns) return Limit::kCredits;
    return Limit::kBoth;
  }
  return by_slots ? Limit::kSlots : by_credits ? Limit::kCredits : Limit::kNone;
}

std::uint64_t Mount::credits_granted() const {
  std::uint64_t sum = 0;
  for (const MountConnection& c : connections) sum += c.credits_granted;
  return sum;
}

std::uint32_t Mount::credits_in_use_max() const {
  std::uint32_t most = 0;
  for (const MountConnection& c : connections) most = std::max(most, c.credits_in_use_max);
  return most;
}

std::string version_text(const Mount& mount) {
  return mount.minor ? fmt::format("NFSv{}.{}", mount.version, *mount.minor)
                     : fmt::format("NFSv{}", mount.version);
}

std::vector<std::string> status_flag_names(std::uint32_t flags) {
  constexpr std::size_t kPrefix = 12;  // SEQ4_STATUS_
  std::vector<std::string> names;
  for (std::uint32_t rest = flags; rest != 0; rest &= rest - 1) {
    const char* const name = decode::sequence_flag_name(rest);
    names.push_back(name != nullptr ? std::string(name + kPrefix)
                                    : fmt::format("{:#x}", rest & (~rest + 1)));
  }
  return names;
}

bool same(const Mount& a, const Mount& b) {
  if (!a.session.empty() || !b.session.empty()) return a.session == b.session;
  return a.version == b.version && a.minor == b.minor && a.client == b.client &&
         a.server == b.server;
}

void add_export(Mount& to, std::string path) {
  if (to.exports.size() == kMaxExports) return;
  for (const Export& known : to.exports) {
    if (known.path == path) return;
  }
  to.exports.push_back({std::move(path)});
}

void add(Mount& to, Mount&& from) {
  later(to.client_id, from.client_id);
  later(to.client_owner, from.client_owner);
  later(to.server_owner, from.server_owner);
  later(to.server_scope, from.server_scope);
  to.exchange_flags |= from.exchange_flags;
  if (to.created_frame == 0) to.created_frame = from.created_frame;
  if (from.destroyed_frame != 0) to.destroyed_frame = from.destroyed_frame;
  to.reclaim_complete |= from.reclaim_complete;
  to.first_ns = std::min(to.first_ns, from.first_ns);
  to.last_ns = std::max(to.last_ns, from.last_ns);
  to.first_frame = std::min(to.first_frame, from.first_frame);
  to.last_frame = std::max(to.last_frame, from.last_frame);
  later(to.fore, from.fore);
  later(to.back, from.back);
  to.more_connections += from.more_connections;
  for (const MountConnection& c : from.connections) {
    const auto at =
        std::lower_bound(to.connections.begin(), to.connections.end(), c.id,
                         [](const MountConnection& k, std::uint32_t id) { return k.id < id; });
    if (at != to.connections.end() && at->id == c.id) {
      join(*at, c);
    } else if (to.connections.size() < kMaxMountConnections) {
      to.connections.insert(at, c);
    } else {
      ++to.more_connections;
    }
  }
  to.calls += from.calls;
  to.replies += from.replies;
  to.delegations += from.delegations;
  later(to.slots, from.slots);
  if (from.slots_in_use_max) {
    to.slots_in_use_max = std::max(to.slots_in_use_max.value_or(0), *from.slots_in_use_max);
  }
  to.slots_beyond += from.slots_beyond;
  to.slots_full.add(from.slots_full);
  to.credits_full.add(from.credits_full);
  add_backchannel(to.backchannel, from.backchannel, from.replies != 0);
  for (Export& e : from.exports) add_export(to, std::move(e.path));
  add_layouts(to.layouts, from.layouts);
}

void find_data_servers(Mounts& mounts) {
  for (Mount& m : mounts.list) {
    for (DataServer& s : m.layouts.servers) {
      s.connections.clear();
      s.reads = 0;
      s.writes = 0;
      if (!s.rdma) continue;
      for (const Mount& to : mounts.list) {
        if (&to == &m || to.client != m.client || to.server != s.address) continue;
        for (const MountConnection& c : to.connections) {
          s.reads += c.reads;
          s.writes += c.writes;
          if (s.connections.size() < kMaxMountConnections) s.connections.push_back(c.id);
        }
      }
      std::sort(s.connections.begin(), s.connections.end());
      s.connections.erase(std::unique(s.connections.begin(), s.connections.end()),
                          s.connections.end());
    }
  }
}

}  // namespace rpcrdma::mounts
