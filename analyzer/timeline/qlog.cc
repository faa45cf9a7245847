// Writes a timeline as qlog records, one JSON object per event.
#include "names.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::timeline {

namespace {

using report::Decimal;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::string_view kRecordSeparator = "\x1e";

Decimal milliseconds(std::int64_t ns) {
  return {ns, 6};
}

const char* vantage_name(Vantage vantage) {
  switch (vantage) {
    case Vantage::kClient:
      return "client";
    case Vantage::kServer:
      return "server";
    case Vantage::kNetwork:
      break;
  }
  return "network";
}

class Qlog final : public Format {
 public:
  explicit Qlog(Write write) : write_(std::move(write)) {}

  void begin(std::int64_t reference_ns, Vantage vantage) override {
    reference_ns_ = reference_ns;
    write_(kRecordSeparator);
    json_.object();
    json_.field("qlog_version", "0.4");
    json_.field("qlog_format", "JSON-SEQ");
    json_.object("trace");
    json_.object("common_fields");
    json_.array("protocol_type");
    json_.value("RPCRDMA");
    json_.end();
    json_.field("time_format", "relative");
    json_.field("reference_time", reference_ns / kMillisecond);
    json_.end();
    json_.object("vantage_point");
    json_.field("name", "rpcrdma export");
    json_.field("type", vantage_name(vantage));
    // `flow` is needed only if the vantage point is neither endpoint.
    if (vantage == Vantage::kNetwork) json_.field("flow", "client");
    json_.end();
    json_.end();
    json_.end();
    json_.line(write_);
  }

  void opened(const roce::Connection& c, int client, std::int64_t time_ns) override {
    event("rpcrdma:connection_opened", id_of(c), time_ns);
    json_.field("setup", c.setup == roce::Setup::kCm ? "cm" : "inferred");
    json_.field("first_frame", c.first_frame);
    sides(c, client);
    json_.optional("service_id", c.setup == roce::Setup::kCm, c.service_id);
    json_.optional("path_mtu", c.path_mtu != 0, c.path_mtu);
    finish();
  }

  void changed(const roce::Connection& c, int client, std::int64_t time_ns) override {
    event("rpcrdma:connection_updated", id_of(c), time_ns);
    sides(c, client);
    finish();
  }

  void joined(const roce::Connection& into, const roce::Connection& from,
              std::int64_t time_ns) override {
    ledgers_[into.index][1] = ledgers_[from.index][0];
    ledgers_.erase(from.index);
    event("rpcrdma:connections_joined", id_of(into), time_ns);
    json_.field("joined", fmt::format("{}", id_of(from)));
    finish();
  }

  void private_data(const roce::Connection& c, int sender, const wire::PrivateData* data,
                    std::int64_t time_ns) override {
    event("rpcrdma:private_data", id_of(c), time_ns);
    json_.field("sender", sender);
    json_.field("present", data != nullptr);
    if (data != nullptr) {
      json_.field("version", data->version);
      json_.field("flags", data->flags);
      json_.field("remote_invalidation", data->remote_invalidation());
      json_.field("send_size", data->send_size());
      json_.field("receive_size", data->recv_size());
    }
    finish();
  }

  void closed(const roce::Connection& c, std::int64_t time_ns) override {
    event("rpcrdma:connection_closed", id_of(c), time_ns);
    json_.field("state", last_state(c));
    json_.optional("closed_by", c.closed_by >= 0, c.closed_by);
    json_.optional("frame", c.closed_by >= 0, c.closed_frame);
    if (c.state == roce::State::kRejected) {
      json_.field("reason", wire::cm_rej_reason(c.reject_reason));
    }
    finish();
  }

  void evict(std::uint32_t connection) override { ledgers_.erase(connection); }

  void message(const model::Message& m, const Origin& origin) override {
    event("rpcrdma:message", origin.id(), m.time_ns);
    json_.field("frame", m.frame);
    json_.field("first_frame", m.first_frame);
    json_.field("sender", origin.sender);
    json_.field("direction", direction_name(origin.reverse));
    report::write_header(json_, m);
    json_.optional("answers", m.match_frame != 0 && m.kind != model::Kind::kCall, m.match_frame);
    json_.object("credits");
    ledger(m.credits);
    json_.end();
    json_.optional("invalidated_handle", m.has_invalidate, m.invalidated_handle);
    json_.optional("length", !model::is_absent(m, roce::kAbsentLengths), m.wire_length);
    json_.field("complete", m.complete);
    json_.field("bad_icrc", m.suspect);
    finish();
  }

  void credits(const model::Credits& credits, const Origin& origin, std::int64_t time_ns) override {
    Ledger& known = ledgers_[origin.connection][origin.caller];
    if (known.recorded && known.requested == credits.requested &&
        known.granted == credits.granted) {
      return;
    }
    known = {true, credits.requested, credits.granted};
    event("rpcrdma:credits_updated", origin.id(), time_ns);
    caller(origin);
    ledger(credits);
    finish();
  }

  void call_ended(const EndedCall& ended, bool shown) override {
    if (!shown) return;
    const model::Call& call = ended.call;
    const model::Message& m = call.message;
    const model::Message* const answer = ended.answer;
    event("rpcrdma:call_ended", ended.origin.id(), ended.end_ns);
    caller(ended.origin);
    json_.field("xid", m.xid);
    json_.field("ending", ending_name(call.ending));
    const std::string result = outcome(answer);
    json_.optional("outcome", !result.empty(), result);
    report::write_rpc(json_, m);
    json_.field("name", report::procedure_label(m.rpc));
    json_.field("frame", m.frame);
    json_.optional("answer_frame", answer != nullptr, answer != nullptr ? answer->frame : 0);
    json_.field("duration", milliseconds(ended.end_ns - m.time_ns));
    if (Parts parts; parts_of(call, answer, parts)) {
      json_.object("parts");
      json_.field("call_to_first_operation", milliseconds(parts.before_ns));
      json_.field("operations", milliseconds(parts.operations_ns));
      json_.field("last_operation_to_reply", milliseconds(parts.after_ns));
      json_.end();
    } else {
      json_.null("parts");
    }
    json_.field("operations", call.operations_total);
    std::array<std::uint64_t, 3> moved{};
    for (const model::CallChunk& chunk : call.chunks) {
      moved[static_cast<std::size_t>(model::counted_list(chunk.list))] += chunk.moved;
    }
    json_.object("bytes");
    for (const auto list :
         {model::ChunkList::kRead, model::ChunkList::kWrite, model::ChunkList::kReply}) {
      json_.field(model::chunk_list_name(list), moved[static_cast<std::size_t>(list)]);
    }
    json_.end();
    finish();
  }

  void operation(const model::Call& call, const model::ChunkOperation& o,
                 const Origin& origin) override {
    event("rpcrdma:operation", origin.id(), o.last_ns);
    json_.field("kind", o.kind == roce::OpKind::kRead ? "read" : "write");
    // Only the caller's peer accesses the caller's memory, and only the caller that of its Reply.
    const bool of_reply = o.list == model::ChunkList::kReplyRead;
    json_.field("sender", of_reply ? origin.caller : 1 - origin.caller);
    json_.field("xid", call.message.xid);
    json_.field("list", model::chunk_list_name(o.list));
    json_.field("chunk", o.chunk);
    json_.field("segment", o.segment);
    extent(o);
    finish();
  }

  void unmatched_operation(const roce::Connection& c, const roce::Operation& op) override {
    event("rpcrdma:operation", id_of(c), op.last_ns);
    json_.field("kind", op.kind == roce::OpKind::kRead ? "read" : "write");
    json_.field("sender", op.initiator);
    for (const char* key : {"xid", "list", "chunk", "segment"}) json_.null(key);
    extent(op);
    finish();
  }

  void refusal(const roce::Connection& c, int sender, const wire::Aeth& aeth, std::uint32_t psn,
               const roce::PacketMeta& meta) override {
    event("rpcrdma:refusal", id_of(c), meta.time_ns);
    json_.field("sender", sender);
    json_.field("kind", aeth.is_rnr() ? "rnr_nak" : "nak");
    json_.field("code", aeth.value());
    json_.field("name", refusal_name(aeth));
    json_.field("psn", psn);
    json_.field("frame", meta.frame);
    finish();
  }

  void retransmission(const roce::Connection& c, int sender, std::uint64_t count,
                      const roce::PacketMeta& meta) override {
    event("rpcrdma:retransmission", id_of(c), meta.time_ns);
    json_.field("sender", sender);
    json_.field("packets", count);
    json_.field("frame", meta.frame);
    finish();
  }

  void finding(const Found& found) override {
    const rules::Occurrence& o = found.occurrence;
    const rules::Evidence& e = o.evidence;
    event("rpcrdma:finding", found.connection_id, found.time_ns);
    json_.field("rule", o.rule.name);
    json_.field("severity", rules::severity_name(o.severity));
    json_.field("text", o.text);
    json_.field("count", e.count);
    json_.array("frames");
    for (const std::uint64_t frame : e.frames) {
      if (frame != 0) json_.value(frame);
    }
    json_.end();
    json_.optional("peer", e.connection != nullptr && e.side >= 0, e.side);
    json_.field("role", found.role);
    json_.field("section", o.rule.section);
    json_.field("advice", o.advice);
    finish();
  }

 private:
  // The part of a ledger that messages carry.
  struct Ledger {
    bool recorded = false;
    std::uint32_t requested = 0;
    std::uint32_t granted = 0;
  };

  // Starts an event; its data follow. `connection`: 0 for none.
  void event(const char* name, std::uint32_t connection, std::int64_t time_ns) {
    write_(kRecordSeparator);
    json_.object();
    json_.field("time", milliseconds(time_ns - reference_ns_));
    json_.field("name", name);
    if (connection != 0) json_.field("group_id", fmt::format("{}", connection));
    json_.object("data");
  }

  void finish() {
    json_.end();
    json_.end();
    json_.line(write_);
  }

  void sides(const roce::Connection& c, int client) {
    json_.array("sides");
    for (const roce::Side& side : c.side) {
      json_.object();
      json_.field("address", side.address.to_string());
      json_.optional("qpn", side.qpn_known && !side.is_port, side.qpn);
      if (side.is_port) json_.field("port", side.qpn);
      json_.end();
    }
    json_.end();
    json_.optional("client", client >= 0, client);
  }

  void caller(const Origin& origin) {
    json_.field("caller", origin.caller);
    json_.field("direction", direction_name(origin.reverse));
  }

  void ledger(const model::Credits& credits) {
    json_.optional("requested", credits.requested_known, credits.requested);
    json_.optional("granted", credits.granted_known, credits.granted);
    json_.field("in_use", credits.in_use);
  }

  // Writes the fields of both kinds of operations.
  template <typename Operation>
  void extent(const Operation& o) {
    json_.field("handle", o.handle);
    json_.field("offset", o.offset);
    json_.field("length", o.length);
    json_.field("bytes", o.bytes);
    json_.field("first_frame", o.first_frame);
    json_.field("last_frame", o.last_frame);
    json_.field("begin", milliseconds(o.first_ns - reference_ns_));
    json_.field("duration", milliseconds(o.last_ns - o.first_ns));
    json_.field("complete", o.complete);
  }

  Write write_;
  report::JsonWriter json_;
  std::int64_t reference_ns_ = 0;
  roce::ByConnection<std::array<Ledger, 2>> ledgers_;  // by caller
};

}  // namespace

std::unique_ptr<Format> make_qlog(Write write) {
  return std::make_unique<Qlog>(std::move(write));
}

}  // namespace rpcrdma::timeline
