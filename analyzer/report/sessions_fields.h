// Lists the JSON fields of NFS mounts and sessions, for both writer and reader.
#pragma once

#include "report_fields_base.h"

#include <string>

#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Spells>& s) {
  a("times", s.count);
  a("duration_ns", s.ns);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Channel>& c) {
  a("slots", c.slots);
  a("max_request_size", c.max_request_size);
  a("max_response_size", c.max_response_size);
  a("max_operations", c.max_operations);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::MountConnection>& c) {
  a.id("connection", c.id);
  a("fore_channel", c.fore);
  a("backchannel_bound", c.back_bound);
  a("calls", c.calls);
  a("callbacks", c.callbacks);
  a("reads", c.reads);
  a("writes", c.writes);
  a("credits_granted", c.credits_granted);
  a("credits_in_use_max", c.credits_in_use_max);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Callback>& c) {
  a("frame", c.frame);
  a("time_ns", c.time_ns);
  a.nullable("operation", c.operation);
  a.nullable("status", c.status);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Backchannel>& b) {
  a.optional("requested", b.requested);
  a.optional("granted", b.granted);
  a("callbacks", b.callbacks);
  a("answered", b.answered);
  a.object_or_null("last_callback", b.last);
  a("down_replies", b.down_replies);
  a.nullable("down_first_frame", b.down_first_frame);
  a.nullable("down_last_frame", b.down_last_frame);
  a("down_at_end", b.down_at_end);
  a("status_flags", b.status_flags);
  a.nullable("netid", b.netid);
  a.nullable("address", b.address);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::DataServer>& s) {
  a("netid", s.netid);
  a("address", s.address);
  a.optional("port", s.port);
  a("rdma", s.rdma);
  a("devices", s.devices);
  a.numbers("connections", s.connections, mounts::kMaxMountConnections);
  a("reads", s.reads);
  a("writes", s.writes);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Layouts>& l) {
  a("granted", l.granted);
  a("refused", l.refused);
  a.nullable("last_refusal", l.last_refusal);
  a("returned", l.returned);
  a("recalled", l.recalled);
  a("errors", l.errors);
  a.object("types", [&](auto& in) {
    for (std::size_t type = 0; type < l.types.size(); ++type) {
      const char* const name = decode::layout_type_name(static_cast<std::uint32_t>(type));
      in(name != nullptr ? name : "other", l.types[type]);
    }
  });
  a("mds_reads", l.mds_reads);
  a("mds_writes", l.mds_writes);
  a.objects("data_servers", l.servers, mounts::kMaxDataServers);
  a("more_data_servers", l.more_servers);
  a("not_followed", l.not_followed);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Export>& e) {
  a("path", e.path);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Mount>& m) {
  a("version", m.version);
  a.optional("minor_version", m.minor);
  a("client", m.client);
  a("server", m.server);
  a.nullable("session", m.session);
  a.optional("client_id", m.client_id);
  a.nullable("client_owner", m.client_owner);
  a.nullable("server_owner", m.server_owner);
  a.nullable("server_scope", m.server_scope);
  a("exchange_flags", m.exchange_flags);
  a.nullable("created_frame", m.created_frame);
  a.nullable("destroyed_frame", m.destroyed_frame);
  a("reclaim_complete", m.reclaim_complete);
  a("first_frame", m.first_frame);
  a("last_frame", m.last_frame);
  a("first_time_ns", m.first_ns);
  a("last_time_ns", m.last_ns);
  a.object_or_null("fore_channel", m.fore);
  a.object_or_null("back_channel", m.back);
  a.objects("connections", m.connections, mounts::kMaxMountConnections);
  a("more_connections", m.more_connections);
  a("calls", m.calls);
  a("replies", m.replies);
  a("delegations", m.delegations);
  a.optional("slots", m.slots);
  a.optional("slots_in_use_max", m.slots_in_use_max);
  a("slots_not_followed", m.slots_beyond);
  a.object_of("slots_full", m.slots_full);
  a.object_of("credits_full", m.credits_full);
  a.derived("credits_granted", m.credits_granted());
  a.derived("credits_in_use_max", m.credits_in_use_max());
  a.derived("limit", std::string(mounts::limit_name(m.limit())));
  a.object_of("backchannel", m.backchannel);
  a.objects("exports", m.exports, mounts::kMaxExports);
  a.object_of("layouts", m.layouts);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, mounts::Mounts>& m) {
  a.objects("mounts", m.list, mounts::kMaxMounts);
  a("omitted_calls", m.omitted_calls);
  a("not_followed", m.not_followed);
}

// A report without NFS has no such key.
template <typename Archive>
void session_fields(Archive& a, Of<Archive, Report>& r) {
  if (a.present("sessions", r.mounts.any())) a.object_of("sessions", r.mounts);
}

}  // namespace rpcrdma::report
