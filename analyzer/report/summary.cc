#include "summary.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <rpcrdma/rules/rejection.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/dialects.h>

namespace rpcrdma::report {

namespace {

EndPoint end_point(const roce::Side& s, const model::ConnectionModel& m, std::size_t side) {
  EndPoint e;
  e.depths_known = (m.absent & roce::kAbsentSetup) == 0 && s.cm.depths_known;
  e.address = s.address.to_string();
  if (s.qpn_known) (s.is_port ? e.port : e.qpn) = s.qpn;
  e.cm_seen = s.cm.seen;
  if (s.cm.seen) {
    e.cm_frame = s.cm.frame;
    e.responder_resources = s.cm.responder_resources;
    e.initiator_depth = s.cm.initiator_depth;
    if (s.cm.retries_known) e.rnr_retry_count = s.cm.rnr_retry_count;
  }
  if (m.has_private_data[side]) {
    const wire::PrivateData& p = m.private_data[side];
    e.private_data = {p.version, p.remote_invalidation(), p.send_size(), p.recv_size()};
  }
  e.counters = s.counters;
  return e;
}

Direction direction(const model::CallerCounts& k) {
  return {k.calls,
          k.replies,
          k.errors,
          k.unmatched_calls,
          k.unmatched_replies,
          k.credits.requested,
          k.credits.granted,
          k.requested_max,
          k.granted_min,
          k.granted_max,
          k.in_use_max,
          (k.absent & roce::kAbsentRequests) == 0,
          (k.absent & roce::kAbsentGrants) == 0};
}

}  // namespace

std::vector<Tunnels> tunnels_of(const roce::Connection& c, std::size_t client) {
  std::vector<Tunnels> all;
  for (const std::size_t side : {client, 1 - client}) {
    for (const roce::TunnelsSeen& seen : c.side[side].tunnels) {
      const capture::Tunnels& from = seen.tunnels;
      Tunnels to;
      to.from_server = side != client;
      for (std::size_t i = 0; i < from.count; ++i) {
        TunnelLayer& layer = to.layers.emplace_back();
        layer.type = capture::tunnel_name(from.kind[i]);
        if (from.has_key(i)) {
          layer.key = from.key[i];
          const char* const name = capture::tunnel_key_name(from.kind[i]);
          layer.key_name = name == nullptr ? "key" : name;
        }
      }
      if (from.src.kind != capture::AddressKind::kNone) {
        to.src = from.src.to_string();
        to.dst = from.dst.to_string();
      }
      if (from.erspan_session != capture::Tunnels::kNoSession) {
        to.erspan_session = from.erspan_session;
      }
      to.packets = seen.packets;
      all.push_back(std::move(to));
    }
  }
  return all;
}

std::string tunnels_text(const Tunnels& tunnels) {
  std::string text;
  const auto to = std::back_inserter(text);
  for (const TunnelLayer& layer : tunnels.layers) {
    fmt::format_to(to, "{}{}", text.empty() ? "" : ", ", layer.type);
    if (layer.key) fmt::format_to(to, " {} {}", layer.key_name, *layer.key);
    if (tunnels.erspan_session && layer.type.starts_with("ERSPAN")) {
      fmt::format_to(to, " session {}", *tunnels.erspan_session);
    }
  }
  if (!tunnels.src.empty()) fmt::format_to(to, " from {} to {}", tunnels.src, tunnels.dst);
  return text;
}

Connection summarize(const roce::Connection& c, const model::ConnectionModel& m) {
  const std::size_t client = m.client >= 0 ? static_cast<std::size_t>(m.client) : 0;
  Connection r;
  r.id = c.index + 1;
  r.speaks = m.speaks;
  r.side = {end_point(c.side[client], m, client), end_point(c.side[1 - client], m, 1 - client)};
  for (std::size_t i = 0; i < 2; ++i) {
    const bool traces = c.side[i == 0 ? client : 1 - client].reads_recorded_at_start;
    r.side[i].resends_unseen = c.recorded && !traces;
  }
  r.roles = m.client_certain ? Roles::kCertain : m.client >= 0 ? Roles::kLikely : Roles::kUnknown;
  r.transport = c.transport;
  r.mpa_revision = c.mpa_revision;
  r.by_cm = c.setup == roce::Setup::kCm;
  r.recorded = c.recorded;
  r.origin = c.origin;
  r.absent = c.absent | m.absent;
  r.events_lost = c.events_lost;
  r.operations_unseen = c.side[0].operations_unseen || c.side[1].operations_unseen;
  r.state = c.state;
  if (c.state == roce::State::kRejected) {
    r.reject_reason = wire::cm_rej_reason(c.reject_reason);
    r.reject_data = rules::rejection_data(c.reject_data);
  }
  if (c.closed_by >= 0) {
    r.closed_by = static_cast<std::size_t>(c.closed_by) == client ? 0 : 1;
    r.closed_frame = c.closed_frame;
  }
  if (c.state >= roce::State::kRejected) r.ended_ns = c.ended_ns;
  if (r.by_cm) r.service_id = c.service_id;
  r.path_mtu = c.path_mtu;
  r.version = m.version;
  if (m.dialect != wire::Dialect::kDraft02) {
    r.dialect = {wire::dialect_name(m.dialect), m.dialect_frame, m.dialect_reason};
  }
  r.sends = m.sends;
  r.messages = m.messages;
  r.malformed = m.malformed;
  r.clock_stepped_back = c.clock_stepped_back;
  r.direction = {direction(m.caller[client]), direction(m.caller[1 - client])};
  r.forward_replies = {m.caller[client].first_reply_frame, m.caller[client].first_reply_ns,
                       m.caller[client].last_reply_ns};
  r.thresholds = m.thresholds;
  r.tunnels = tunnels_of(c, client);
  r.chunks = m.chunks;
  r.chunk_bytes = m.chunk_bytes;
  r.inline_bytes = m.inline_bytes;
  r.unmatched_operations = m.unmatched_operations;
  r.icrc_good = c.icrc_good;
  r.icrc_bad = c.icrc_bad;
  r.first_frame = c.first_frame;
  r.last_frame = c.last_frame;
  r.first_ns = c.first_ns;
  r.last_ns = c.last_ns;
  return r;
}

}  // namespace rpcrdma::report
