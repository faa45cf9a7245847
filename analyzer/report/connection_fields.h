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
void end_fields(Archive& a, Of<Archive, Connection>& c) {
  a.name("state", c.state, state_name, 4);
  if (a.present("reject_reason", c.state == roce::State::kRejected)) {
    a("reject_reason", c.reject_reason);
  }
  if (a.present("closed_by", c.closed_by >= 0)) {
    bool by_server = c.closed_by == 1;
    a.either("closed_by", by_server, "client", "server");
    if constexpr (Archive::kReads) c.closed_by = by_server ? 1 : 0;
    a("closed_frame", c.closed_frame);
  }
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Connection>& c) {
  auto& [forward, reverse] = c.direction;
  a.id("id", c.id);
  a.name("protocol", c.speaks, protocol_name, 3);
  a.object_of("client", c.side[0]);
  a.object_of("server", c.side[1]);
  a.name("roles", c.roles, roles_name, 3);
  a.either("setup", c.by_cm, "inferred", "cm");
  a("recorded", c.recorded);
  // Sources that show less than packets and endpoints do.
  if (a.present("source", roce::is_kernel(c.origin))) {
    a.name("source", c.origin, roce::origin_name, roce::kOrigins);
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
  a.object("credits", [&](auto& in) {
    in.object("forward", [&](auto& credits) { credit_fields(credits, c.direction[0]); });
    in.object("reverse", [&](auto& credits) { credit_fields(credits, c.direction[1]); });
  });
  a.object("thresholds", [&](auto& in) {
    in.nullable("call", c.thresholds.call);
    in.nullable("reply", c.thresholds.reply);
  });
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
  a.derived("seconds", seconds_between(c.first_ns, c.last_ns));
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
