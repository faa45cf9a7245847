#include "collect.h"

#include <algorithm>

#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::notes {

namespace {

using decode::FieldId;
using model::ChunkList;
using model::Kind;

model::ModelOptions model_options(const Options& options) {
  model::ModelOptions keep;
  keep.keep_bytes = true;
  keep.keep_chunks = true;
  keep.dialect = options.dialect;
  keep.rpc_port = options.rpc_port;
  return keep;
}

const filter::FieldSet& fields_before() {
  static const filter::FieldSet set = filter::field_set(
      {FieldId::kConnection, FieldId::kExchange, FieldId::kKind, FieldId::kReverse, FieldId::kPeer,
       FieldId::kSource, FieldId::kSourceQpn, FieldId::kDestination, FieldId::kDestinationQpn,
       FieldId::kSendLength, FieldId::kComplete, FieldId::kBadIcrc});
  return set;
}

const filter::FieldSet& fields_of_ledger() {
  static const filter::FieldSet set = filter::field_set(
      {FieldId::kCreditRequested, FieldId::kCreditGranted, FieldId::kCreditInUse,
       FieldId::kThresholdCall, FieldId::kThresholdReply, FieldId::kInvalidatedHandle});
  return set;
}

const filter::FieldSet& fields_behind() {
  static const filter::FieldSet set = filter::fields_of_answer() | fields_of_ledger();
  return set;
}

std::uint64_t operation_key(const roce::Connection& c, const roce::Operation& op) {
  return std::uint64_t{c.index} << 26U | std::uint64_t{op.kind == roce::OpKind::kRead} << 25U |
         std::uint64_t{op.initiator} << 24U | op.psn;
}

bool has_read_chunks(const model::Message& m) {
  return !m.reads.empty();
}

// All that its Read chunks offer has been read.
bool read_whole(const model::Call& call) {
  return std::all_of(call.chunks.begin(), call.chunks.end(), [](const model::CallChunk& chunk) {
    return chunk.list != ChunkList::kRead ||
           (chunk.moved >= chunk.length && !chunk.truncated && chunk.data.covers(chunk.length));
  });
}

// Wireshark's dissectors would take the padding of an RDMA_MSGP for arguments.
bool is_padded(const model::Message& m) {
  return m.version == 1 && m.proc == static_cast<std::uint32_t>(wire::Proc::kMsgp);
}

std::string end_text(const roce::Side& side) {
  std::string text = side.address.to_string();
  if (side.qpn_known) text += " QP " + std::to_string(side.qpn);
  return text;
}

const char* which(bool client, bool server) {
  if (client && server) return "both";
  return client ? "client" : server ? "server" : "neither";
}

}  // namespace

Session::Impl::Impl(const Options& options)
    : is_dissected(options.is_dissected),
      all_findings({options.profile, [this](const rules::Occurrence& o) { on_finding(o); }}),
      checker(all_findings),
      both(checker, *this),
      pipeline(both, model_options(options), this) {
  context = {&pipeline.connections(), &pipeline.model()};
  checker.attach(pipeline.connections(), pipeline.model());
}

FrameNote& Session::Impl::note(std::uint64_t frame) {
  // What is known of a frame that is not there yet belongs to the newest one.
  frame = std::min(frame, newest);
  if (frame >= frame_refs.size()) frame_refs.resize(frame + 1);
  if (frame_refs[frame] == 0) {
    frames.emplace_back();
    frame_refs[frame] = static_cast<std::uint32_t>(frames.size());
  }
  return frames[frame_refs[frame] - 1];
}

FrameNote& Session::Impl::note(std::uint64_t frame, const roce::Connection& connection) {
  FrameNote& n = note(frame);
  n.connection = context.connection_id(connection.index);
  return n;
}

void Session::Impl::told_by(FrameNote& n, const roce::Connection& connection, std::size_t side) {
  n.sender = static_cast<std::uint8_t>(side);
  ends.try_emplace(n.connection, std::array<capture::Address, 2>{connection.side[0].address,
                                                                 connection.side[1].address});
}

std::string Session::Impl::receiver(std::span<const std::uint8_t> address, std::uint32_t qpn) {
  std::string key(address.begin(), address.end());
  key.resize(16);
  for (unsigned shift = 0; shift < 24; shift += 8) key += static_cast<char>(qpn >> shift & 0xffU);
  return key;
}

MessageNote& Session::Impl::message(std::uint64_t id) {
  if (id > messages.size()) messages.resize(id);
  return messages[id - 1];
}

void Session::Impl::write(Tape& tape, const filter::Inputs& in, const filter::FieldSet& fields) {
  draft.clear();
  TapeSink sink(draft);
  filter::model_fields(in, fields, sink);
  tape.assign(draft.begin(), draft.end());
}

void Session::Impl::conclude(MessageNote& n, const model::Message& m, const model::Call* call) {
  n.connection = context.connection_id(m.connection);
  n.match_frame = m.match_frame;
  n.latency_ns = m.latency_ns;
  // A Call's line says nothing of its end.
  const bool reverse = context.model->reverse(m);
  const bool said = m.kind == Kind::kCall && !n.summary.empty() && n.reverse == reverse &&
                    n.procedure_known == m.rpc.known;
  n.reverse = reverse;
  if (!said) {
    // Where its RPC message speaks for itself, and nobody asks again, that is enough.
    const bool brief = use == Use::kOnceWithoutFields && n.rpc_frame == m.frame && m.rpc.known &&
                       m.rpc.header_seen && is_dissected != nullptr && is_dissected(m.rpc.program);
    n.summary =
        brief ? report::transport_summary(m, context, {}) : report::message_summary(m, context, {});
    n.procedure_known = m.rpc.known;
    if (m.rpc.known) {
      n.procedure = model::procedure_of(m.rpc);
      n.label = report::procedure_label(m.rpc);
    }
  }
  if (use == Use::kOnceWithoutFields) return;
  const filter::Inputs in = context.inputs(m, call, 0);
  write(n.before, in, fields_before());
  // What was moved for a Call is known when it is over.
  const bool waits = m.kind == Kind::kCall && m.match_frame == 0;
  write(n.behind, in, waits ? fields_of_ledger() : fields_behind());
  if (call != nullptr) n.operations = call->operations;
}

void Session::Impl::on_message(const model::Message& m, const model::Call* call) {
  MessageNote& n = message(m.id);
  n.frame = m.frame;
  n.time_ns = m.time_ns;
  n.kind = m.kind;
  n.reverse = context.model->reverse(m);
  n.version = m.version;
  n.header_length = m.header_length;
  n.wire_length = static_cast<std::uint32_t>(std::min<std::uint64_t>(m.wire_length, INT32_MAX));
  n.dialect = m.dialect;
  n.call = call != nullptr ? static_cast<Ref>(call->message.id) : 0;
  if (m.first_frame != m.frame || !m.complete) n.bytes = m.bytes;
  n.connection = context.connection_id(m.connection);
  // An answer ends its Call, and is concluded with it.
  const bool answers = call != nullptr && (m.kind == Kind::kReply || m.kind == Kind::kError);
  FrameNote& frame = note(m.frame);
  frame.connection = n.connection;
  frame.message = static_cast<Ref>(m.id);
  const roce::Connection& c = context.connection(m);
  if (c.recorded) {
    told_by(frame, c, context.sender(m));
  } else if (frame.message == m.id && context.model->connection(c.index).messages <= 2) {
    for (const roce::Side& side : c.side) {
      if (side.qpn_known) receivers.insert(receiver(side.address.bytes, side.qpn));
    }
  }
  if (call != nullptr && m.kind == Kind::kCall) {
    if (!model::is_external(m) && !has_read_chunks(m)) call_is_here(*call);
  } else if (call != nullptr && m.kind == Kind::kReply) {
    reply_is_here(m, *call);
  }
  if (!answers) conclude(n, m, call);
}

void Session::Impl::on_identified(const model::Call& call) {
  conclude(message(call.message.id), call.message, &call);
}

void Session::Impl::on_call_end(const model::Call& call, const model::Message* answer) {
  conclude(message(call.message.id), call.message, &call);
  if (answer != nullptr) conclude(message(answer->id), *answer, &call);
}

void Session::Impl::place(const model::Message& m, const model::Call& call, RpcNote rpc) {
  MessageNote& n = message(m.id);
  if (n.rpc_frame != 0) return;
  n.rpc_frame = newest;
  rpc.message = static_cast<Ref>(m.id);
  if (rpc.in_send && m.frame != newest) {  // held back: its Send is in an earlier frame
    rpc.in_send = false;
    rpc.bytes.assign(m.bytes.begin() + std::min<std::ptrdiff_t>(rpc.offset, std::ssize(m.bytes)),
                     m.bytes.end());
  }
  rpc.conversation = context.model->canonical(call.message.connection) * 2 + (n.reverse ? 1 : 0);
  // The Reply must be found where its Call was put, also when the two directions of the connection
  // have become one meanwhile.
  if (m.id != call.message.id) rpc.conversation = message(call.message.id).conversation;
  n.conversation = rpc.conversation;
  rpcs.push_back(std::move(rpc));
  FrameNote& frame = note(newest);
  const auto ref = static_cast<Ref>(rpcs.size());
  (frame.rpc == 0 ? frame.rpc : rpcs[frame.last_rpc - 1].next) = ref;
  frame.last_rpc = ref;
}

void Session::Impl::forget_rpcs() {
  if (use == Use::kAgain) {
    first_kept_rpc = rpcs.size();
    return;
  }
  for (; first_kept_rpc < rpcs.size(); ++first_kept_rpc) {
    std::vector<std::uint8_t>().swap(rpcs[first_kept_rpc].bytes);
    rpcs[first_kept_rpc].length = 0;
  }
}

void Session::Impl::inline_rpc(const model::Message& m, RpcNote& rpc) const {
  rpc.in_send = true;
  rpc.offset = m.header_length;
  const auto captured = static_cast<std::uint32_t>(m.bytes.size());
  rpc.length = captured > rpc.offset ? captured - rpc.offset : 0;
  rpc.reported_length = m.wire_length > rpc.offset
                            ? static_cast<std::uint32_t>(m.wire_length - rpc.offset)
                            : rpc.length;
}

// Of an RPC message that is in a chunk at least our own fields are shown.
bool Session::Impl::worth_rebuilding(const model::Message& m) const {
  return model::is_external(m) || is_dissected == nullptr ||
         (m.rpc.known && is_dissected(m.rpc.program));
}

void Session::Impl::call_is_here(const model::Call& call) {
  const model::Message& m = call.message;
  if (is_padded(m) || m.header_length == 0) return;
  RpcNote rpc;
  if (!model::is_external(m) && !has_read_chunks(m)) {
    inline_rpc(m, rpc);
  } else {
    if (!worth_rebuilding(m)) return;
    model::Rebuilt rebuilt = model::rebuild_call(call);
    if (!rebuilt.complete) return;
    rpc.bytes = std::move(rebuilt.bytes);
    rpc.length = rpc.reported_length = static_cast<std::uint32_t>(rpc.bytes.size());
  }
  place(m, call, std::move(rpc));
}

void Session::Impl::reply_is_here(const model::Message& reply, const model::Call& call) {
  // Without its Call Wireshark's dissectors make nothing of it, or something wrong.
  if (message(call.message.id).rpc_frame == 0 || is_padded(reply) || reply.header_length == 0) {
    return;
  }
  RpcNote rpc;
  const bool written = std::any_of(reply.write_segments.begin(), reply.write_segments.end(),
                                   [](const wire::Segment& s) { return s.length != 0; });
  if (!model::is_external(reply) && !written && !has_read_chunks(reply)) {
    inline_rpc(reply, rpc);
  } else {
    if (!worth_rebuilding(reply)) return;
    model::Rebuilt rebuilt = model::rebuild_reply(call, reply);
    // A Reply chunk can be returned empty, which no RPC message is.
    if (!rebuilt.complete || rebuilt.bytes.empty()) return;
    rpc.bytes = std::move(rebuilt.bytes);
    rpc.length = rpc.reported_length = static_cast<std::uint32_t>(rpc.bytes.size());
  }
  place(reply, call, std::move(rpc));
}

void Session::Impl::on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
                          const roce::PacketMeta& meta) {
  (void)sender, (void)mad;
  if (connection != nullptr) note(meta.frame, *connection);
}

void Session::Impl::on_refusal(const roce::Connection& connection, int sender,
                               const wire::Aeth& aeth, std::uint32_t psn,
                               const roce::PacketMeta& meta) {
  (void)sender, (void)psn;
  if (context.model->connection(connection.index).messages == 0) return;
  note(meta.frame, connection).refusal =
      aeth.is_rnr() ? "RNR NAK: no Receive is posted" : wire::nak_name(aeth.value());
}

void Session::Impl::on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                                  std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) {
  (void)sender, (void)psn, (void)idle_ns, (void)begins;
  if (context.model->connection(connection.index).messages == 0) return;
  note(meta.frame, connection).sent_again = true;
}

void Session::Impl::on_operation(const roce::Connection& connection, const roce::Operation& op,
                                 const model::Call* call, std::uint32_t segment) {
  if (call == nullptr || segment >= call->segments.size()) return;
  const model::CallSegment& target = call->segments[segment];
  OperationNote& n = operations.emplace_back();
  n.call = static_cast<Ref>(call->message.id);
  n.operation.kind = op.kind;
  n.operation.list = target.list;
  n.operation.chunk = call->chunks[target.chunk].index;
  n.operation.segment = target.index;
  n.operation.handle = op.handle;
  n.operation.length = op.length;
  n.operation.offset = op.offset;
  n.operation.first_frame = op.first_frame;
  n.operation.last_frame = op.last_frame;
  n.operation.first_ns = n.operation.last_ns = op.first_ns;
  const auto ref = static_cast<Ref>(operations.size());
  open_operations[operation_key(connection, op)] = ref;
  note(op.first_frame, connection).operation = ref;
}

void Session::Impl::on_operation_data(const roce::Connection& connection,
                                      const roce::Operation& op) {
  const auto it = open_operations.find(operation_key(connection, op));
  if (it != open_operations.end()) note(op.last_frame, connection).operation = it->second;
}

void Session::Impl::on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                                     const model::Call* call, std::uint32_t segment) {
  (void)segment;
  const auto it = open_operations.find(operation_key(connection, op));
  if (it == open_operations.end()) return;
  OperationNote& n = operations[it->second - 1];
  n.operation.last_frame = op.last_frame;
  n.operation.last_ns = op.last_ns;
  n.operation.bytes = op.bytes;
  n.operation.complete = op.complete;
  n.operation.suspect = op.suspect;
  n.ended = true;
  open_operations.erase(it);
  if (call != nullptr && op.kind == roce::OpKind::kRead && read_whole(*call)) call_is_here(*call);
}

void Session::Impl::on_event(const trace_reader::Event& event) {
  // A Send is shown as its message.
  if (event.type() == trace::EventType::kMessage) return;
  EventNote& n = events.emplace_back();
  n.summary = report::event_summary(event, {});
  TapeSink sink(n.fields);
  trace_reader::decode_event(event, sink);
  FrameNote& frame = event.connection != nullptr ? note(event.meta.frame, *event.connection)
                                                 : note(event.meta.frame);
  frame.event = static_cast<Ref>(events.size());
  if (event.connection != nullptr) told_by(frame, *event.connection, event.local);
}

void Session::Impl::on_finding(const rules::Occurrence& o) {
  FindingNote& n = findings.emplace_back();
  const rules::Evidence& e = o.evidence;
  n.rule = o.rule.id;
  n.severity = o.severity;
  n.count = e.count;
  n.of = e.of;
  n.topic = e.of != 0 ? e.topic : 0;
  n.text = o.text;
  n.advice = o.advice;
  if (e.connection != nullptr) {
    n.connection = context.connection_id(e.connection->index);
    if (e.side >= 0)
      n.peer = e.connection->side[static_cast<std::size_t>(e.side)].address.to_string();
  }
  n.frame = e.message != 0 && e.message <= messages.size() ? messages[e.message - 1].frame
            : e.frames[1] != 0                             ? e.frames[1]
            : e.frames[0] != 0                             ? e.frames[0]
                                                           : newest;
  FrameNote& frame = note(n.frame);
  const auto ref = static_cast<Ref>(findings.size());
  (frame.finding == 0 ? frame.finding : findings[frame.last_finding - 1].next) = ref;
  frame.last_finding = ref;
}

void Session::Impl::on_let_go(const roce::Connection& connection) {
  // The last moment to ask.
  static_cast<void>(row(context.connection_id(connection.index)));
}

bool Session::Impl::speaks_rpc(std::uint32_t index) const {
  if (index < rows.size() && rows[index].id != 0) return true;
  const model::ConnectionModel& c = context.model->connection(index);
  return c.speaks == model::Speaks::kRpc || c.messages != 0;
}

const ConnectionRow* Session::Impl::row(std::uint32_t id) const {
  if (id == 0) return nullptr;
  if (id > rows.size()) rows.resize(id);
  ConnectionRow& r = rows[id - 1];
  const roce::Connection* c = context.connections->find(id - 1);
  if (c == nullptr || c->merged_away) return r.id == 0 || c != nullptr ? nullptr : &r;
  const model::ConnectionModel& cm = context.model->connection(c->index);
  if (!speaks_rpc(c->index)) return nullptr;
  const std::size_t client = cm.client > 0 ? 1 : 0;
  const std::size_t server = 1 - client;
  r.id = id;
  r.client = end_text(c->side[client]);
  r.server = end_text(c->side[server]);
  r.set_up_seen = c->setup == roce::Setup::kCm;
  r.version = cm.version;
  r.dialect = cm.dialect;
  r.threshold_call = cm.thresholds.call;
  r.threshold_reply = cm.thresholds.reply;
  r.private_data = which(cm.has_private_data[client], cm.has_private_data[server]);
  const auto invalidates = [&](std::size_t side) {
    return cm.has_private_data[side] && cm.private_data[side].remote_invalidation();
  };
  r.invalidation = which(invalidates(client), invalidates(server));
  const model::CallerCounts& forward = cm.caller[client];
  const model::CallerCounts& reverse = cm.caller[server];
  r.calls = forward.calls;
  r.reverse_calls = reverse.calls;
  r.replies = forward.replies + reverse.replies;
  r.errors = forward.errors + reverse.errors;
  r.unanswered = forward.unmatched_calls + reverse.unmatched_calls;
  r.requested = forward.requested_max;
  r.granted_min = forward.granted_min;
  r.granted_max = forward.granted_max;
  r.in_use_max = forward.in_use_max;
  r.inline_bytes = cm.inline_bytes;
  r.chunks = cm.chunks;
  r.chunk_bytes = cm.chunk_bytes;
  r.stray_operations = cm.stray_operations;
  return &r;
}

}  // namespace rpcrdma::notes
