#include <map>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

namespace {

double microseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

void latency(JsonWriter& json, const char* key, const model::Histogram& h) {
  json.object(key);
  json.field("count", h.count());
  json.field("min", microseconds(h.min()));
  json.field("mean", h.mean() / 1e3);
  json.field("p50", microseconds(h.quantile(0.5)));
  json.field("p90", microseconds(h.quantile(0.9)));
  json.field("p99", microseconds(h.quantile(0.99)));
  json.field("p999", microseconds(h.quantile(0.999)));
  json.field("max", microseconds(h.max()));
  json.end();
}

void ledger(JsonWriter& json, const char* key, const model::CallerCounts& c) {
  json.object(key);
  json.field("requested", c.credits.requested);
  json.field("granted", c.credits.granted);
  json.field("in_use_max", c.in_use_max);
  json.field("requested_max", c.requested_max);
  json.field("granted_min", c.granted_min);
  json.field("granted_max", c.granted_max);
  json.end();
}

void counters(JsonWriter& json, const roce::SideCounters& c) {
  json.object("counters");
  json.field("packets", c.packets);
  json.field("payload_bytes", c.payload_bytes);
  json.field("retransmitted", c.retransmitted);
  json.field("reordered", c.reordered);
  json.field("lost_network", c.lost_network);
  json.field("lost_capture", c.lost_capture);
  json.field("acks", c.acks);
  json.object("naks");
  for (std::size_t i = 0; i < c.naks.size(); ++i) {
    if (c.naks[i] != 0) json.field(wire::nak_name(static_cast<std::uint8_t>(i)), c.naks[i]);
  }
  json.end();
  json.field("rnr", c.rnr);
  json.field("illegal_sequence", c.illegal_sequence);
  json.end();
}

void private_data(JsonWriter& json, const model::ConnectionModel& m, std::size_t side) {
  if (!m.has_private_data[side]) {
    json.null("private_data");
    return;
  }
  const wire::PrivateData& p = m.private_data[side];
  json.object("private_data");
  json.field("version", p.version);
  json.field("remote_invalidation", p.remote_invalidation());
  json.field("send_size", p.send_size());
  json.field("receive_size", p.recv_size());
  json.end();
}

const char* state_name(roce::State s) {
  switch (s) {
    case roce::State::kOpening:
      return "opening";
    case roce::State::kOpen:
      return "open";
    case roce::State::kRejected:
      return "rejected";
    case roce::State::kClosed:
      return "closed";
  }
  return "open";
}

const char* protocol_name(model::Speaks s) {
  switch (s) {
    case model::Speaks::kRpc:
      return "rpc-over-rdma";
    case model::Speaks::kOther:
      return "other";
    case model::Speaks::kUnknown:
      return "unknown";
  }
  return "unknown";
}

void end_point(JsonWriter& json, const char* key, const roce::Side& s,
               const model::ConnectionModel& m, std::size_t side) {
  json.object(key);
  json.field("address", s.address.to_string());
  json.optional("qpn", s.qpn_known, s.qpn);
  if (s.cm.seen) {
    json.object("cm");
    json.field("frame", s.cm.frame);
    json.field("responder_resources", s.cm.responder_resources);
    json.field("initiator_depth", s.cm.initiator_depth);
    json.field("rnr_retry_count", s.cm.rnr_retry_count);
    json.end();
  }
  private_data(json, m, side);
  counters(json, s.counters);
  json.end();
}

void counts(JsonWriter& json, const char* key, const model::CallerCounts& k) {
  json.object(key);
  json.field("calls", k.calls);
  json.field("replies", k.replies);
  json.field("errors", k.errors);
  json.field("unmatched_calls", k.unmatched_calls);
  json.field("unmatched_replies", k.unmatched_replies);
  json.end();
}

void connection(JsonWriter& json, const roce::Connection& c, const model::ConnectionModel& m) {
  const std::size_t client = m.client >= 0 ? static_cast<std::size_t>(m.client) : 0;
  const std::size_t server = 1 - client;
  const model::CallerCounts& forward = m.caller[client];
  const model::CallerCounts& reverse = m.caller[server];
  const bool by_cm = c.setup == roce::Setup::kCm;
  json.object();
  json.field("id", c.index + 1);
  json.field("protocol", protocol_name(m.speaks));
  end_point(json, "client", c.side[client], m, client);
  end_point(json, "server", c.side[server], m, server);
  json.field("roles", m.client_certain ? "certain" : m.client >= 0 ? "likely" : "unknown");
  json.field("setup", by_cm ? "cm" : "inferred");
  json.field("state", state_name(c.state));
  if (c.state == roce::State::kRejected) {
    json.field("reject_reason", wire::cm_rej_reason(c.reject_reason));
  }
  if (c.closed_by >= 0) {
    json.field("closed_by", static_cast<std::size_t>(c.closed_by) == client ? "client" : "server");
    json.field("closed_frame", c.closed_frame);
  }
  json.optional("service_id", by_cm, c.service_id);
  json.optional("port", by_cm && wire::is_rdma_ip_service(c.service_id),
                wire::service_port(c.service_id));
  json.optional("path_mtu", c.path_mtu != 0, c.path_mtu);
  json.optional("version", m.version != 0, m.version);
  json.field("calls", forward.calls + reverse.calls);
  json.field("replies", forward.replies + forward.unmatched_replies + reverse.replies +
                            reverse.unmatched_replies);
  json.field("unmatched", forward.unmatched_calls + forward.unmatched_replies +
                              reverse.unmatched_calls + reverse.unmatched_replies);
  json.field("errors", forward.errors + reverse.errors);
  json.field("malformed", m.malformed);
  counts(json, "forward", forward);
  counts(json, "reverse", reverse);
  json.object("credits");
  ledger(json, "forward", forward);
  ledger(json, "reverse", reverse);
  json.end();
  json.object("thresholds");
  json.field("call", m.thresholds.call);
  json.field("reply", m.thresholds.reply);
  json.end();
  json.object("chunks");
  for (std::size_t list = 0; list < m.chunks.size(); ++list) {
    json.object(model::chunk_list_name(static_cast<model::ChunkList>(list)));
    json.field("chunks", m.chunks[list]);
    json.field("bytes", m.chunk_bytes[list]);
    json.end();
  }
  json.end();
  json.field("inline_bytes", m.inline_bytes);
  json.field("stray_operations", m.stray_operations);
  json.object("icrc");
  json.field("good", c.icrc_good);
  json.field("bad", c.icrc_bad);
  json.end();
  json.field("first_frame", c.first_frame);
  json.field("last_frame", c.last_frame);
  json.field("seconds", static_cast<double>(c.last_ns - c.first_ns) / 1e9);
  json.end();
}

void packets(JsonWriter& json, const roce::PacketStats& p, const FrameCounts& f) {
  json.object("packets");
  json.field("total", f.total);
  json.field("roce", p.roce);
  json.field("icrc_good", p.icrc_good);
  json.field("icrc_bad", p.icrc_bad);
  json.field("icrc_unchecked", p.icrc_unchecked);
  json.field("retransmitted", p.retransmitted);
  json.field("reordered", p.reordered);
  json.field("lost_network", p.lost_network);
  json.field("lost_capture", p.lost_capture);
  json.field("nak", p.nak);
  json.field("rnr", p.rnr);
  json.field("cm", p.cm);
  json.field("other_service", p.other_service);
  json.field("malformed", p.malformed);
  json.field("cut_short", f.cut_short + p.icrc_unchecked);
  json.field("fragments", f.fragments);
  json.end();
}

void finding(JsonWriter& json, const rules::Finding& x) {
  json.object();
  json.field("rule", x.rule);
  json.field("severity", rules::severity_name(x.severity));
  json.optional("peer", !x.peer.empty(), x.peer);
  json.optional("role", !x.role.empty(), x.role);
  json.optional("connection", x.connection != 0, x.connection);
  json.array("frames");
  for (const std::uint64_t frame : x.frames) json.value(frame);
  json.end();
  json.field("count", x.count);
  json.field("text", x.text);
  json.field("advice", x.advice);
  json.end();
}

}  // namespace

void Analysis::write_json(const Write& write) const {
  JsonWriter json;
  const FrameCounts& f = pipeline_->frames();
  json.object();
  json.field("schema", "rpcrdma-analysis-1");
  packets(json, pipeline_->tracker().stats(), f);
  json.object("capture");
  json.field("seconds", static_cast<double>(f.last_ns - f.first_ns) / 1e9);
  json.field("first_time_ns", f.first_ns);
  json.field("last_time_ns", f.last_ns);
  json.field("dropped", source_.dropped);
  json.field("cut_short", source_.cut_short);
  json.optional("damage", !source_.damage.empty(), source_.damage);
  json.field("clock_steps_back", f.clock_steps_back);
  json.end();
  json.object("messages");
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    json.field(model::kind_name(static_cast<model::Kind>(i)), kinds_[i]);
  }
  json.object("types");
  // Several types are "unknown".
  std::map<std::string_view, std::uint64_t> types;
  for (const auto& [proc, count] : procs_v1_) types[wire::proc_name(1, proc)] += count;
  for (const auto& [proc, count] : procs_v2_) types[wire::proc_name(2, proc)] += count;
  for (const auto& [name, count] : types) json.field(name.data(), count);
  json.end();
  json.end();
  json.array("connections");
  for (std::size_t i = 0; i < pipeline_->tracker().connection_count(); ++i) {
    const roce::Connection& c = pipeline_->tracker().connection(i);
    if (c.merged_away) continue;
    connection(json, c, pipeline_->model().connection(c.index));
    json.drain(write);
  }
  json.end();
  json.array("procedures");
  for (const auto& [key, s] : procedures_) {
    const auto& [program, version, procedure, operation, reverse] = key;
    json.object();
    json.field("name", s.label);
    json.field("direction", reverse ? "reverse" : "forward");
    const bool known = program != UINT32_MAX;
    json.optional("program", known, program);
    json.optional("version", known, version);
    json.optional("procedure", known, procedure);
    json.field("calls", s.calls);
    json.field("replies", s.replies);
    json.field("errors", s.errors);
    json.field("unmatched", s.unmatched);
    json.object("bytes");
    json.field("read", s.read_bytes);
    json.field("write", s.write_bytes);
    json.field("reply", s.reply_bytes);
    json.end();
    latency(json, "latency_us", s.total);
    if (s.data.count() != 0) {
      json.object("parts_us");
      latency(json, "call_to_first_operation", s.before_data);
      latency(json, "operations", s.data);
      latency(json, "last_operation_to_reply", s.after_data);
      json.end();
    }
    json.end();
  }
  json.end();
  json.array("findings");
  for (const rules::Finding& x : findings_.list()) finding(json, x);
  json.end();
  json.field("findings_omitted", omitted());
  json.array("withheld");
  for (const rules::Withheld& w : findings_.withheld()) {
    json.object();
    json.field("rule", w.rule);
    json.field("connection", w.connection);
    json.field("count", w.count);
    json.field("reason", w.reason);
    json.end();
  }
  json.end();
  json.end();
  write(json.take());
}

}  // namespace rpcrdma::report
