#include <rpcrdma/report/message_json.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::report {

namespace {

using Json = nlohmann::ordered_json;

Json segment_json(const wire::Segment& s) {
  return {{"handle", s.handle}, {"length", s.length}, {"offset", s.offset}};
}

Json segments_json(std::span<const wire::Segment> segments) {
  Json array = Json::array();
  for (const wire::Segment& s : segments) array.push_back(segment_json(s));
  return array;
}

Json end_json(const roce::Side& side) {
  return {{"address", side.address.to_string()},
          {"qpn", side.qpn_known ? Json(side.qpn) : Json(nullptr)}};
}

Json operation_json(const model::ChunkOperation& o) {
  return {{"kind", o.kind == roce::OpKind::kRead ? "read" : "write"},
          {"list", model::chunk_list_name(o.list)},
          {"chunk", o.chunk},
          {"segment", o.segment},
          {"handle", o.handle},
          {"offset", o.offset},
          {"length", o.length},
          {"bytes", o.bytes},
          {"first_frame", o.first_frame},
          {"last_frame", o.last_frame},
          {"time_us", static_cast<double>(o.last_ns - o.first_ns) / 1e3},
          {"complete", o.complete}};
}

Json name_or_null(const char* name) { return name != nullptr ? Json(name) : Json(nullptr); }

Json rpc_json(const model::Message& m) {
  const model::RpcInfo& rpc = m.rpc;
  if (!rpc.known && !rpc.header_seen) return nullptr;
  Json j = Json::object();
  if (rpc.known) {
    j["program"] = rpc.program;
    j["program_name"] = name_or_null(decode::program_name(rpc.program, rpc.version, rpc.procedure));
    j["version"] = rpc.version;
    j["procedure"] = rpc.procedure;
    j["procedure_name"] =
        name_or_null(decode::procedure_name(rpc.program, rpc.version, rpc.procedure));
  }
  if (rpc.ops.kept != 0) {
    Json ops = Json::array();
    const bool callback = decode::is_transient_program(rpc.program);
    for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
      const char* name = decode::nfs4_op_name(rpc.ops.op[i], callback);
      ops.push_back(name != nullptr ? Json(name) : Json(rpc.ops.op[i]));
    }
    j["nfs_operations"] = std::move(ops);
  }
  if (m.kind == model::Kind::kCall) {
    j["cred_flavor"] = wire::auth_flavor_name(rpc.cred_flavor);
  } else if (rpc.header_seen) {
    j["status"] = reply_status(rpc);
  }
  return j;
}

}  // namespace

Json message_json(const model::Message& m, const model::Call* call, const Context& context) {
  const roce::Connection& c = context.connection(m);
  const std::size_t sender = context.sender(m);
  Json j = Json::object();
  j["frame"] = m.frame;
  j["first_frame"] = m.first_frame;
  j["time"] = static_cast<double>(m.time_ns) / 1e9;
  j["time_ns"] = m.time_ns;
  j["connection"] = context.connection_id(m.connection);
  j["source"] = end_json(c.side[sender]);
  j["destination"] = end_json(c.side[1 - sender]);
  j["direction"] = context.model->reverse(m) ? "reverse" : "forward";
  j["kind"] = model::kind_name(m.kind);
  j["xid"] = m.xid;
  j["version"] = m.version;
  j["credit"] = m.credit;
  j["proc"] = wire::proc_name(m.version, m.proc);
  Json reads = Json::array();
  for (const wire::ReadSegment& r : m.reads) {
    Json s = {{"position", r.position}};
    s.update(segment_json(r.target));
    reads.push_back(std::move(s));
  }
  j["read_list"] = std::move(reads);
  Json writes = Json::array();
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    writes.push_back(segments_json(segments));
  });
  j["write_list"] = std::move(writes);
  j["reply_chunk"] = m.has_reply_chunk ? segments_json(m.reply_segments) : Json(nullptr);
  if (m.kind == model::Kind::kError) {
    Json e = {{"code", static_cast<std::uint32_t>(m.error)},
              {"name", wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error))}};
    if (m.error == wire::RdmaErr::kVers) {
      e["vers_low"] = m.vers_low;
      e["vers_high"] = m.vers_high;
    } else if (m.error == wire::RdmaErr::kCantReply) {
      e["processed"] = m.processed;
      e["segment_index"] = m.segment_index;
      e["length_needed"] = m.length_needed;
    }
    j["error"] = std::move(e);
  }
  if (m.kind == model::Kind::kOption) j["option_type"] = m.opttype;
  if (m.version == 2) j["inv_handle"] = m.inv_handle;
  if (m.malformed) {
    j["malformed"] = {{"offset", m.malformed->offset},
                      {"rule", m.malformed->rule},
                      {"text", m.malformed->what}};
  }
  j["rpc"] = rpc_json(m);
  j["match"] = m.match_frame != 0 ? Json(m.match_frame) : Json(nullptr);
  j["latency_us"] = m.latency_ns >= 0 ? Json(static_cast<double>(m.latency_ns) / 1e3) : Json(nullptr);
  Json operations = Json::array();
  if (call != nullptr) {
    const roce::OpKind mine =
        m.kind == model::Kind::kCall ? roce::OpKind::kRead : roce::OpKind::kWrite;
    for (const model::ChunkOperation& o : call->operations) {
      if (o.kind == mine) operations.push_back(operation_json(o));
    }
  }
  j["operations"] = std::move(operations);
  j["credits"] = {{"requested", m.credits.requested},
                  {"granted", m.credits.granted},
                  {"in_use", m.credits.in_use}};
  j["invalidated_handle"] = m.has_invalidate ? Json(m.invalidated_handle) : Json(nullptr);
  j["length"] = m.wire_length;
  j["complete"] = m.complete;
  if (m.suspect) j["bad_icrc"] = true;
  return j;
}

std::string dump_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rpcrdma::report
