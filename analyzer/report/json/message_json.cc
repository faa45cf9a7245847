// Writes messages as JSON objects.
#include "text/plain_values.h"

#include <fmt/ranges.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/message_json.h>

namespace rpcrdma::report {

namespace {

void segment_fields(JsonWriter& json, const wire::Segment& s) {
  json.field("handle", s.handle);
  json.field("length", s.length);
  json.field("offset", s.offset);
}

void segments(JsonWriter& json, std::span<const wire::Segment> list) {
  json.array();
  for (const wire::Segment& s : list) {
    json.object();
    segment_fields(json, s);
    json.end();
  }
  json.end();
}

void end_point(JsonWriter& json, const char* key, const roce::Side& side) {
  json.object(key);
  json.field("address", capture::AddressText(side.address).view());
  json.optional("qpn", side.qpn_known && !side.is_port, side.qpn);
  if (side.is_port) json.field("port", side.qpn);
  json.end();
}

void chunk_lists(JsonWriter& json, const model::Message& m) {
  json.array("read_list");
  for (const wire::ReadSegment& r : m.reads) {
    json.object();
    json.field("position", r.position);
    segment_fields(json, r.target);
    json.end();
  }
  json.end();
  json.array("write_list");
  model::for_each_write_chunk(
      m, [&](std::uint32_t, std::span<const wire::Segment> chunk) { segments(json, chunk); });
  json.end();
  if (m.has_reply_chunk) {
    json.key("reply_chunk");
    segments(json, m.reply_segments);
  } else {
    json.null("reply_chunk");
  }
}

void error_fields(JsonWriter& json, const model::Message& m) {
  const auto code = static_cast<std::uint32_t>(m.error);
  json.object("error");
  json.field("code", code);
  json.field("name", model::error_name(m));
  if (m.error == wire::RdmaErr::kVers) {
    json.field("vers_low", m.vers_low);
    json.field("vers_high", m.vers_high);
  } else if (m.error == wire::RdmaErr::kCantReply && !model::later_dialect(m)) {
    json.field("processed", m.processed);
    json.field("segment_index", m.segment_index);
    json.field("length_needed", m.length_needed);
  }
  json.end();
}

// The file that an RPC is about.
void file_fields(JsonWriter& json, const model::Message& m, const model::Call* call) {
  const model::FileUse* const use = call != nullptr ? call->file_use() : nullptr;
  if (use == nullptr || (m.kind != model::Kind::kCall && m.kind != model::Kind::kReply)) return;
  json.object("nfs");
  json.optional("fh", use->handle.has_value(), use->handle.value_or(0));
  const std::string name = plot::escape_terminal(use->name());
  name.empty() ? json.null("name") : json.field("name", name);
  json.optional("offset", use->offset.has_value(), use->offset.value_or(0));
  const bool moved = m.kind == model::Kind::kReply && use->moved;
  json.optional("count", moved || use->count.has_value(),
                moved ? *use->moved : use->count.value_or(0));
  if (use->stateid) {
    json.field("stateid", fmt::format("{:02x}", fmt::join(*use->stateid, "")));
  } else {
    json.null("stateid");
  }
  json.end();
}

void operations(JsonWriter& json, const model::Message& m, const model::Call* call) {
  json.array("operations");
  const bool is_call = m.kind == model::Kind::kCall;
  for (std::size_t i = 0; call != nullptr && i < call->operations.size(); ++i) {
    const model::ChunkOperation& o = call->operations[i];
    if (model::is_of_reply(o) == is_call) continue;
    json.object();
    json.field("kind", o.kind == roce::OpKind::kRead ? "read" : "write");
    json.field("list", model::chunk_list_name(o.list));
    json.field("chunk", o.chunk);
    json.field("segment", o.segment);
    json.field("handle", o.handle);
    json.field("offset", o.offset);
    json.field("length", o.length);
    json.field("bytes", o.bytes);
    json.field("first_frame", o.first_frame);
    json.field("last_frame", o.last_frame);
    json.field("time_us", microseconds(o.last_ns - o.first_ns));
    json.field("complete", o.complete);
    json.end();
  }
  json.end();
}

}  // namespace

void write_rpc(JsonWriter& json, const model::Message& m) {
  const model::RpcInfo& rpc = m.rpc;
  if (!rpc.known && !rpc.header_seen) {
    json.null("rpc");
    return;
  }
  json.object("rpc");
  if (rpc.known) {
    json.field("program", rpc.program);
    json.field("program_name", decode::program_name(rpc.program, rpc.version, rpc.procedure));
    json.field("version", rpc.version);
    json.field("procedure", rpc.procedure);
    json.field("procedure_name", decode::procedure_name(rpc.program, rpc.version, rpc.procedure));
  }
  if (rpc.ops.kept != 0) {
    json.array("nfs_operations");
    const bool callback = decode::is_transient_program(rpc.program);
    for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
      const char* name = decode::nfs4_op_name(rpc.ops.op[i], callback);
      if (name != nullptr) {
        json.value(name);
      } else {
        json.value(rpc.ops.op[i]);
      }
    }
    json.end();
  }
  if (rpc.header_seen && m.kind == model::Kind::kCall) {
    json.field("cred_flavor", wire::auth_flavor_name(rpc.cred_flavor));
  } else if (rpc.header_seen) {
    json.field("status", reply_status(rpc));
  }
  json.end();
}

void write_header(JsonWriter& json, const model::Message& m) {
  json.field("kind", model::kind_name(m.kind));
  json.field("xid", m.xid);
  json.field("version", m.version);
  if (model::later_dialect(m)) json.field("dialect", wire::dialect_name(m.dialect));
  json.optional("credit", !model::is_absent(m, roce::kAbsentCredit), m.credit);
  json.field("proc", model::type_name(m));
  chunk_lists(json, m);
  if (m.kind == model::Kind::kError) error_fields(json, m);
  if (model::is_option(m)) json.field("option_type", m.opttype);
  if (m.version == 2) json.field("inv_handle", m.inv_handle);
  if (m.malformed) {
    json.object("malformed");
    json.field("offset", m.malformed->offset);
    json.field("rule", m.malformed->rule);
    json.field("text", m.malformed->what);
    json.end();
  }
  write_rpc(json, m);
}

namespace {

void not_known(JsonWriter& json, const model::Message& m) {
  json.array("unknown");
  const auto name = [&](roce::Absent what, const char* text) {
    if (model::is_absent(m, what)) json.value(text);
  };
  name(roce::kAbsentBytes, "bytes");
  name(roce::kAbsentCredit, "credit");
  name(roce::kAbsentLengths, "length");
  name(roce::kAbsentChunks, "chunks");
  name(roce::kAbsentInvalidation, "invalidation");
  json.end();
}

}  // namespace

void write_message(JsonWriter& json, const model::Message& m, const model::Call* call,
                   const Context& context) {
  const roce::Connection& c = context.connection(m);
  const std::size_t sender = context.sender(m);
  json.object();
  json.field("frame", m.frame);
  json.field("first_frame", m.first_frame);
  json.field("time", static_cast<double>(m.time_ns) / 1e9);
  json.field("time_ns", m.time_ns);
  json.field("connection", context.connection_id(m.connection));
  end_point(json, "source", c.side[sender]);
  end_point(json, "destination", c.side[1 - sender]);
  json.field("direction", direction_name(context.model->reverse(m)));
  write_header(json, m);
  file_fields(json, m, call);
  json.optional("match", m.match_frame != 0, m.match_frame);
  json.optional("latency_us", m.latency_ns >= 0, microseconds(m.latency_ns));
  operations(json, m, call);
  json.object("credits");
  json.optional("requested", m.credits.requested_known, m.credits.requested);
  json.optional("granted", m.credits.granted_known, m.credits.granted);
  json.field("in_use", m.credits.in_use);
  json.end();
  json.optional("invalidated_handle", m.has_invalidate, m.invalidated_handle);
  json.optional("length", !model::is_absent(m, roce::kAbsentLengths), m.wire_length);
  json.field("complete", m.complete);
  if (m.absent != 0) not_known(json, m);
  const model::Incomplete unfit = model::unfit_for_rebuild(m, call);
  const char* const why = model::incomplete_reason(unfit, &c);
  if (why != nullptr && !model::is_absent(m, roce::kAbsentBytes)) json.field("incomplete", why);
  if (m.suspect) json.field("bad_icrc", true);
  if (m.ce) json.field("ce", true);
  json.end();
}

}  // namespace rpcrdma::report
