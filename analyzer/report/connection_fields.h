// Lists the fields of a connection in a report's JSON, for both writer and reader.
#pragma once

#include "report_fields_base.h"

#include <rpcrdma/report/report.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::report {

// Null: the source does not show them.
template <typename Archive>
void credit_fields(Archive& a, Of<Archive, Direction>& d) {
  const bool requested = a.optional("requested", d.requested_known, d.requested);
  const bool granted = a.optional("granted", d.granted_known, d.granted);
  if constexpr (Archive::kReads) {
    d.requested_known = requested;
    d.granted_known = granted;
  }
  a("in_use_max", d.in_use_max);
  a.given("requested_max", d.requested_known, d.requested_max);
  a.given("granted_min", d.granted_known, d.granted_min);
  a.given("granted_max", d.granted_known, d.granted_max);
}

template <typename Archive>
void count_fields(Archive& a, Of<Archive, Direction>& d) {
  a("calls", d.calls);
  a("replies", d.replies);
  a("errors", d.errors);
  a("unmatched_calls", d.unmatched_calls);
  a("unmatched_replies", d.unmatched_replies);
}

// Reports of earlier versions have no such fields.
template <typename Archive>
void reply_time_fields(Archive& a, Of<Archive, ReplyTimes>& times) {
  constexpr const char* kKey = "forward_replies";
  if (!a.present(kKey, times.first_frame != 0)) return;
  a.object(kKey, [&](auto& in) {
    in("first_frame", times.first_frame);
    in("first_time_ns", times.first_ns);
    in("last_time_ns", times.last_ns);
  });
}

template <typename Archive, typename Directions>
void both_counts(Archive& a, Directions& d) {
  a.object("forward", [&](auto& in) { count_fields(in, d[0]); });
  a.object("reverse", [&](auto& in) { count_fields(in, d[1]); });
}

template <typename Archive>
void counter_fields(Archive& a, Of<Archive, EndPoint>& e) {
  auto& c = e.counters;
  a("packets", c.packets);
  a("payload_bytes", c.payload_bytes);
  const bool seen = a.optional("retransmitted", !e.resends_unseen, c.retransmitted);
  if constexpr (Archive::kReads) e.resends_unseen = !seen;
  a("duplicated", c.captured_twice);
  a("reordered", c.reordered);
  a("lost_network", c.lost_network);
  a("lost_capture", c.lost_capture);
  a("reads_unseen", c.reads_unseen);
  a("acknowledged_unseen", c.acknowledged_unseen);
  a("acks", c.acks);
  a.object("naks", [&](auto& in) {
    for (std::size_t i = 0; i < c.naks.size(); ++i) {
      const char* const name = wire::nak_name(static_cast<std::uint8_t>(i));
      if (in.present(name, c.naks[i] != 0)) in(name, c.naks[i]);
    }
  });
  a("rnr", c.rnr);
  unless_zero(a, "ecn_capable", c.ecn_capable);
  unless_zero(a, "ce", c.ce);
  unless_zero(a, "cnp", c.cnps);
  a("illegal_sequence", c.illegal_sequence);
  a("orphans", c.orphans);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, PrivateData>& p) {
  a("version", p.version);
  a("remote_invalidation", p.remote_invalidation);
  a("send_size", p.send_size);
  a("receive_size", p.receive_size);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, EndPoint>& e) {
  a("address", e.address);
  a.optional("qpn", e.qpn);
  if (a.present("port", e.port.has_value())) a.optional("port", e.port);
  const bool cm = a.present("cm", e.cm_seen);
  if constexpr (Archive::kReads) e.cm_seen = cm;
  if (cm) {
    a.object("cm", [&](auto& in) {
      in("frame", e.cm_frame);
      const bool known = in.optional("responder_resources", e.depths_known, e.responder_resources);
      in.given("initiator_depth", known, e.initiator_depth);
      if constexpr (Archive::kReads) e.depths_known = known;
      in.optional("rnr_retry_count", e.rnr_retry_count);
    });
  }
  a.object_or_null("private_data", e.private_data);
  a.object("counters", [&](auto& in) { counter_fields(in, e); });
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Dialect>& d) {
  a("name", d.name);
  a.nullable("frame", d.frame);
  a("reason", d.reason);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, TunnelLayer>& layer) {
  a("type", layer.type);
  a.optional("key", layer.key);
  a.nullable("key_name", layer.key_name);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Tunnels>& t) {
  a.either("sender", t.from_server, "client", "server");
  a.objects("layers", t.layers, kMaxTunnelLayers);
  a.nullable("src", t.src);
  a.nullable("dst", t.dst);
  a.optional("erspan_session", t.erspan_session);
  a("packets", t.packets);
}

template <typename Archive>
void end_fields(Archive& a, Of<Archive, Connection>& c) {
  a.name("state", c.state, state_name, 4);
  if (a.present("reject_reason", c.state == roce::State::kRejected)) {
    a("reject_reason", c.reject_reason);
    if (a.present("reject_data", !c.reject_data.empty())) a("reject_data", c.reject_data);
  }
  if (a.present("closed_by", c.closed_by >= 0)) {
    bool by_server = c.closed_by == 1;
    a.either("closed_by", by_server, "client", "server");
    if constexpr (Archive::kReads) c.closed_by = by_server ? 1 : 0;
    a("closed_frame", c.closed_frame);
  }
}

inline const char* difference_name(session::ViewDifference::Kind kind) {
  switch (kind) {
    case session::ViewDifference::Kind::kOnlyHere:
      return "only_here";
    case session::ViewDifference::Kind::kOnlyThere:
      return "only_there";
    case session::ViewDifference::Kind::kContent:
      break;
  }
  return "content";
}
inline constexpr std::size_t kDifferenceKinds = 3;

inline const char* recorder_name(std::uint8_t recorder) {
  constexpr std::array<const char*, 3> kNames{"client", "server", "network"};
  return kNames[std::min<std::size_t>(recorder, 2)];
}

template <typename Archive>
void fields(Archive& a, Of<Archive, session::ViewCounts>& k) {
  a("both", k.both);
  a("differ", k.differ);
  a("only_here", k.only_here);
  a("only_there", k.only_there);
  a("not_compared", k.not_compared);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, session::ViewDifference>& d) {
  a.name("kind", d.kind, difference_name, kDifferenceKinds);
  bool by_server = d.sender == 1;
  a.either("sender", by_server, "client", "server");
  if constexpr (Archive::kReads) d.sender = by_server ? 1 : 0;
  a("xid", d.xid);
  a.nullable("frame", d.frame);
  a.nullable("other_frame", d.other_frame);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, session::ClockOffset>& o) {
  a.duration("ns", o.ns);
  a.duration("error_ns", o.error_ns);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, session::View>& v) {
  a.nullable("file", v.file);
  a.name("source", v.origin, roce::origin_name, roce::kOrigins);
  auto recorder = static_cast<std::uint8_t>(v.recorder < 0 ? 2 : v.recorder);
  a.name("recorder", recorder, recorder_name, 3);
  if constexpr (Archive::kReads) v.recorder = recorder == 2 ? -1 : recorder;
  a("missing", v.missing);
  a.object_of("sent_by_client", v.counts[0]);
  a.object_of("sent_by_server", v.counts[1]);
  a.duration("shift_ns", v.shift_ns);
  a.object_or_null("clock_offset", v.offset);
  a.object("round_trips", [&](auto& in) {
    in("count", v.round_trips.count);
    in.duration("here_ns", v.round_trips.here_ns);
    in.duration("there_ns", v.round_trips.there_ns);
  });
  a.objects("differences", v.differences, session::kViewDifferencesListed);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Connection>& c) {
  auto& [forward, reverse] = c.direction;
  a.id("id", c.id);
  a.name("protocol", c.speaks, protocol_name, 3);
  a.object_of("client", c.side[0]);
  a.object_of("server", c.side[1]);
  a.name("roles", c.roles, roles_name, 3);
  a.name("transport", c.transport, transport_name, 2);
  const bool iwarp = c.transport == roce::Transport::kIwarp;
  a.either("setup", c.by_cm, "inferred", iwarp ? "mpa" : "cm");
  if (a.present("mpa_revision", iwarp)) a("mpa_revision", c.mpa_revision);
  a("recorded", c.recorded);
  // Sources that show less than packets and endpoints do.
  if (a.present("source", roce::is_kernel(c.origin))) {
    a.name("source", c.origin, roce::origin_name, roce::kOrigins);
  }
  if (a.present("unknown", roce::is_kernel(c.origin) || c.lacks(roce::kAbsentMessages))) {
    a.names("unknown", c.absent, absent_name, absent_bit, kAbsentNames);
  }
  a("events_lost", c.events_lost);
  a("operations_unseen", c.operations_unseen);
  a("joined", c.joined);
  end_fields(a, c);
  a.optional("service_id", c.by_cm, c.service_id);
  a.derived("port", c.by_cm && wire::is_rdma_ip_service(c.service_id)
                        ? std::optional(wire::service_port(c.service_id))
                        : std::nullopt);
  a.nullable("path_mtu", c.path_mtu);
  a.nullable("version", c.version);
  if (a.present("dialect", !c.dialect.name.empty())) a.object_of("dialect", c.dialect);
  a("sends", c.sends);
  a("messages", c.messages);
  a.derived("calls", forward.calls + reverse.calls);
  a.derived("replies", forward.replies + forward.unmatched_replies + reverse.replies +
                           reverse.unmatched_replies);
  a.derived("unmatched", forward.unmatched_calls + forward.unmatched_replies +
                             reverse.unmatched_calls + reverse.unmatched_replies);
  a.derived("errors", forward.errors + reverse.errors);
  a("malformed", c.malformed);
  a("truncated", c.cut_short);
  a("clock_stepped_back", c.clock_stepped_back);
  both_counts(a, c.direction);
  reply_time_fields(a, c.forward_replies);
  a.object("credits", [&](auto& in) {
    in.object("forward", [&](auto& credits) { credit_fields(credits, c.direction[0]); });
    in.object("reverse", [&](auto& credits) { credit_fields(credits, c.direction[1]); });
  });
  a.object("thresholds", [&](auto& in) {
    in.nullable("call", c.thresholds.call);
    in.nullable("reply", c.thresholds.reply);
  });
  if (a.present("tunnels", !c.tunnels.empty())) a.objects("tunnels", c.tunnels, kMaxTunnels);
  a.object("chunks", [&](auto& in) {
    for (std::size_t list = 0; list < c.chunks.size(); ++list) {
      in.object(model::chunk_list_name(static_cast<model::ChunkList>(list)), [&](auto& chunks) {
        chunks("chunks", c.chunks[list]);
        const bool seen = !c.lacks(roce::kAbsentOperations) || c.chunk_bytes[list] != 0;
        chunks.optional("bytes", seen, c.chunk_bytes[list]);
      });
    }
  });
  a.given("inline_bytes", (c.absent & roce::kAbsentLengths) == 0, c.inline_bytes);
  a("unmatched_operations", c.unmatched_operations);
  a.object("icrc", [&](auto& in) {
    in("good", c.icrc_good);
    in("bad", c.icrc_bad);
  });
  a("first_frame", c.first_frame);
  a("last_frame", c.last_frame);
  a("first_time_ns", c.first_ns);
  a("last_time_ns", c.last_ns);
  if (a.present("ended_time_ns", c.ended_ns != 0)) a("ended_time_ns", c.ended_ns);
  a.derived("seconds", seconds_between(c.first_ns, c.last_ns));
  // Only if several files show the connection.
  if (a.present("views", !c.views.empty())) {
    a.nullable("file", c.file);
    a.objects("views", c.views, kMaxViews);
  }
}

template <typename Archive>
void fields(Archive& a, Of<Archive, NotListed>& n) {
  a("connections", n.connections);
  a("packets", n.packets);
  a("messages", n.messages);
  a("chunk_bytes", n.chunk_bytes);
  both_counts(a, n.direction);
}

}  // namespace rpcrdma::report
