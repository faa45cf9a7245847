#include <rpcrdma/report/analysis.h>

namespace rpcrdma::report {

namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const model::Histogram& h) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
  return {{"count", h.count()},          {"min", us(h.min())},
          {"mean", h.mean() / 1e3},      {"p50", us(h.quantile(0.5))},
          {"p90", us(h.quantile(0.9))},  {"p99", us(h.quantile(0.99))},
          {"p999", us(h.quantile(0.999))}, {"max", us(h.max())}};
}

Json ledger_json(const model::CallerCounts& c) {
  return {{"requested", c.credits.requested}, {"granted", c.credits.granted},
          {"in_use_max", c.in_use_max},       {"requested_max", c.requested_max},
          {"granted_min", c.granted_min},     {"granted_max", c.granted_max}};
}

Json counters_json(const roce::SideCounters& c) {
  Json naks = Json::object();
  for (std::size_t i = 0; i < c.naks.size(); ++i) {
    if (c.naks[i] != 0) naks[wire::nak_name(static_cast<std::uint8_t>(i))] = c.naks[i];
  }
  return {{"packets", c.packets},
          {"payload_bytes", c.payload_bytes},
          {"retransmitted", c.retransmitted},
          {"reordered", c.reordered},
          {"lost_network", c.lost_network},
          {"lost_capture", c.lost_capture},
          {"acks", c.acks},
          {"naks", naks},
          {"rnr", c.rnr},
          {"illegal_sequence", c.illegal_sequence}};
}

Json private_data_json(const model::ConnectionModel& m, std::size_t side) {
  if (!m.has_private_data[side]) return nullptr;
  const wire::PrivateData& p = m.private_data[side];
  return {{"version", p.version},
          {"remote_invalidation", p.remote_invalidation()},
          {"send_size", p.send_size()},
          {"receive_size", p.recv_size()}};
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

Json connection_json(const roce::Connection& c, const model::ConnectionModel& m) {
  const std::size_t client = m.client >= 0 ? static_cast<std::size_t>(m.client) : 0;
  const auto end = [&](std::size_t side) -> Json {
    const roce::Side& s = c.side[side];
    Json j = {{"address", s.address.to_string()},
              {"qpn", s.qpn_known ? Json(s.qpn) : Json(nullptr)}};
    if (s.cm.seen) {
      j["cm"] = {{"frame", s.cm.frame},
                 {"responder_resources", s.cm.responder_resources},
                 {"initiator_depth", s.cm.initiator_depth},
                 {"rnr_retry_count", s.cm.rnr_retry_count}};
    }
    j["private_data"] = private_data_json(m, side);
    j["counters"] = counters_json(s.counters);
    return j;
  };
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t errors = 0;
  for (const model::CallerCounts& k : m.caller) {
    calls += k.calls;
    replies += k.replies + k.unmatched_replies;
    unmatched += k.unmatched_calls + k.unmatched_replies;
    errors += k.errors;
  }
  const auto chunk = [&](std::size_t list) -> Json {
    return {{"chunks", m.chunks[list]}, {"bytes", m.chunk_bytes[list]}};
  };
  const auto counts = [](const model::CallerCounts& k) -> Json {
    return {{"calls", k.calls},
            {"replies", k.replies},
            {"errors", k.errors},
            {"unmatched_calls", k.unmatched_calls},
            {"unmatched_replies", k.unmatched_replies}};
  };
  Json j = Json::object();
  j["id"] = c.index + 1;
  j["protocol"] = protocol_name(m.speaks);
  j["client"] = end(client);
  j["server"] = end(1 - client);
  j["roles"] = m.client_certain ? "certain" : m.client >= 0 ? "likely" : "unknown";
  j["setup"] = c.setup == roce::Setup::kCm ? "cm" : "inferred";
  j["state"] = state_name(c.state);
  if (c.state == roce::State::kRejected) {
    j["reject_reason"] = wire::cm_rej_reason(c.reject_reason);
  }
  if (c.closed_by >= 0) {
    j["closed_by"] = static_cast<std::size_t>(c.closed_by) == client ? "client" : "server";
    j["closed_frame"] = c.closed_frame;
  }
  j["service_id"] = c.setup == roce::Setup::kCm ? Json(c.service_id) : Json(nullptr);
  j["port"] = c.setup == roce::Setup::kCm && wire::is_rdma_ip_service(c.service_id)
                  ? Json(wire::service_port(c.service_id))
                  : Json(nullptr);
  j["path_mtu"] = c.path_mtu != 0 ? Json(c.path_mtu) : Json(nullptr);
  j["version"] = m.version != 0 ? Json(m.version) : Json(nullptr);
  j["calls"] = calls;
  j["replies"] = replies;
  j["unmatched"] = unmatched;
  j["errors"] = errors;
  j["malformed"] = m.malformed;
  j["forward"] = counts(m.caller[client]);
  j["reverse"] = counts(m.caller[1 - client]);
  j["credits"] = {{"forward", ledger_json(m.caller[client])},
                  {"reverse", ledger_json(m.caller[1 - client])}};
  j["thresholds"] = {{"call", m.thresholds.call}, {"reply", m.thresholds.reply}};
  j["chunks"] = {{"read", chunk(0)}, {"write", chunk(1)}, {"reply", chunk(2)}};
  j["inline_bytes"] = m.inline_bytes;
  j["stray_operations"] = m.stray_operations;
  j["icrc"] = {{"good", c.icrc_good}, {"bad", c.icrc_bad}};
  j["first_frame"] = c.first_frame;
  j["last_frame"] = c.last_frame;
  j["seconds"] = static_cast<double>(c.last_ns - c.first_ns) / 1e9;
  return j;
}

}  // namespace

Json Analysis::to_json() const {
  const roce::PacketStats& p = pipeline_->tracker().stats();
  const FrameCounts& f = pipeline_->frames();
  Json j = Json::object();
  j["schema"] = "rpcrdma-analysis-1";
  j["packets"] = {{"total", f.total},
                  {"roce", p.roce},
                  {"icrc_good", p.icrc_good},
                  {"icrc_bad", p.icrc_bad},
                  {"icrc_unchecked", p.icrc_unchecked},
                  {"retransmitted", p.retransmitted},
                  {"reordered", p.reordered},
                  {"lost_network", p.lost_network},
                  {"lost_capture", p.lost_capture},
                  {"nak", p.nak},
                  {"rnr", p.rnr},
                  {"cm", p.cm},
                  {"other_service", p.other_service},
                  {"malformed", p.malformed},
                  {"cut_short", f.cut_short + p.icrc_unchecked},
                  {"fragments", f.fragments}};
  j["capture"] = {{"seconds", static_cast<double>(f.last_ns - f.first_ns) / 1e9},
                  {"first_time_ns", f.first_ns},
                  {"last_time_ns", f.last_ns},
                  {"dropped", source_.dropped},
                  {"cut_short", source_.cut_short},
                  {"damage", source_.damage.empty() ? Json(nullptr) : Json(source_.damage)},
                  {"clock_steps_back", f.clock_steps_back}};
  Json messages = Json::object();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    messages[model::kind_name(static_cast<model::Kind>(i))] = kinds_[i];
  }
  Json types = Json::object();
  for (const auto& [proc, count] : procs_v1_) types[wire::proc_name(1, proc)] = count;
  for (const auto& [proc, count] : procs_v2_) types[wire::proc_name(2, proc)] = count;
  messages["types"] = std::move(types);
  j["messages"] = std::move(messages);
  Json connections = Json::array();
  for (std::size_t i = 0; i < pipeline_->tracker().connection_count(); ++i) {
    const roce::Connection& c = pipeline_->tracker().connection(i);
    if (!c.merged_away) {
      connections.push_back(connection_json(c, pipeline_->model().connection(c.index)));
    }
  }
  j["connections"] = std::move(connections);
  Json procedures = Json::array();
  for (const auto& [key, s] : procedures_) {
    const auto& [program, version, procedure, operation, reverse] = key;
    Json o = {{"name", s.label},
              {"direction", reverse ? "reverse" : "forward"},
              {"program", program != UINT32_MAX ? Json(program) : Json(nullptr)},
              {"version", version},
              {"procedure", procedure},
              {"calls", s.calls},
              {"replies", s.replies},
              {"errors", s.errors},
              {"unmatched", s.unmatched},
              {"bytes", {{"read", s.read_bytes}, {"write", s.write_bytes}, {"reply", s.reply_bytes}}},
              {"latency_us", latency_json(s.total)}};
    if (s.data.count() != 0) {
      o["parts_us"] = {{"call_to_first_operation", latency_json(s.before_data)},
                       {"operations", latency_json(s.data)},
                       {"last_operation_to_reply", latency_json(s.after_data)}};
    }
    procedures.push_back(std::move(o));
  }
  j["procedures"] = std::move(procedures);
  Json findings = Json::array();
  for (const Finding& x : findings_) {
    findings.push_back({{"rule", x.rule},
                        {"severity", severity_name(x.severity)},
                        {"peer", x.peer.empty() ? Json(nullptr) : Json(x.peer)},
                        {"connection", x.connection != 0 ? Json(x.connection) : Json(nullptr)},
                        {"frames", x.frames},
                        {"count", x.count},
                        {"text", x.text},
                        {"advice", x.advice}});
  }
  j["findings"] = std::move(findings);
  return j;
}

}  // namespace rpcrdma::report
