// Writes the analyzer's results into the notes of frames, and decides in which frame each RPC
// message is dissected.
#include "collect.h"

#include <algorithm>
#include <optional>

#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/model/recognise.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/trace_reader/event_decoder.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::annotations {

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
       FieldId::kSendLength, FieldId::kFieldsOnly, FieldId::kComplete, FieldId::kIncomplete,
       FieldId::kBadIcrc});
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

// Number of roundup bytes that a responder may omit when it reads a Read chunk.
constexpr std::uint64_t kMaxRoundup = 3;

bool is_read_chunk(const model::CallChunk& chunk) {
  return chunk.list == ChunkList::kRead;
}

// Returns whether its Read chunks were read completely, except for the last `left_out` bytes of
// each.
bool read_whole(const model::Call& call, std::uint64_t left_out) {
  return std::all_of(call.chunks.begin(), call.chunks.end(), [&](const model::CallChunk& chunk) {
    const std::uint64_t needed = chunk.length > left_out ? chunk.length - left_out : chunk.length;
    return !is_read_chunk(chunk) ||
           (chunk.moved >= needed && !chunk.truncated && chunk.data.covers(needed));
  });
}

bool every_segment_was_read(const model::Call& call) {
  return std::all_of(call.segments.begin(), call.segments.end(), [](const model::CallSegment& s) {
    return s.list != ChunkList::kRead || s.moved != 0;
  });
}

// Returns the minimum length of the RPC message in an RDMA_MSGP, without its padding. The padding
// consists of zeros and ends where the Send's length is a multiple of rdma_align: that can be the
// first such offset behind the RPC header, or a later one.
std::uint32_t end_before_padding(const model::Message& m, std::uint32_t rpc_header) {
  const auto header = wire::decode_header(m.bytes);
  if (!header || header->align == 0 || header->align > m.bytes.size()) return rpc_header;
  const std::size_t begin = m.header_length + rpc_header;
  const std::size_t aligned = (begin + header->align - 1) / header->align * header->align;
  std::size_t end = std::min(aligned, m.bytes.size());
  while (end > begin && m.bytes[end - 1] == 0) --end;
  return static_cast<std::uint32_t>(end - m.header_length);
}

wire::Bytes payload_of(const model::Message& m) {
  return wire::Bytes(m.bytes).subspan(std::min<std::size_t>(m.header_length, m.bytes.size()));
}

// How much of the last Read chunk was read, if the other chunks are complete and in order.
struct LastChunk {
  const model::CallChunk* chunk = nullptr;
  std::uint64_t end = 0;  // offset in the message, bytes
};
std::optional<LastChunk> last_chunk(const model::Call& call) {
  LastChunk last;
  for (const model::CallChunk& chunk : call.chunks) {
    if (!is_read_chunk(chunk)) continue;
    if (last.chunk != nullptr &&
        (!last.chunk->data.covers(last.chunk->length) || chunk.position < last.chunk->position)) {
      return std::nullopt;
    }
    last.chunk = &chunk;
  }
  if (last.chunk == nullptr) return std::nullopt;
  const std::uint64_t there = last.chunk->data.head().size();
  if (there >= last.chunk->length) return std::nullopt;
  last.end = last.chunk->position + there;
  return last;
}

// If only the roundup of the last chunk is missing, because it was not read, inserts it.
bool add_roundup(const model::Call& call, model::Rebuilt& rebuilt) {
  const auto last = last_chunk(call);
  if (!last || last->end > rebuilt.bytes.size() ||
      !last->chunk->data.covers(model::read_payload_length(call, *last->chunk))) {
    return false;
  }
  const std::uint64_t there = last->end - last->chunk->position;
  rebuilt.bytes.insert(rebuilt.bytes.begin() + static_cast<std::ptrdiff_t>(last->end),
                       static_cast<std::size_t>(wire::xdr_padded(last->chunk->length) - there), 0);
  return true;
}

// Returns the message up to the first byte that cannot be reassembled.
RpcNote front_of_rpc(const model::Call& call, std::vector<std::uint8_t> rebuilt) {
  std::uint64_t end = rebuilt.size();
  std::uint64_t length = model::is_external(call.message) ? 0 : payload_of(call.message).size();
  const auto last = last_chunk(call);
  for (const model::CallChunk& chunk : call.chunks) {
    if (!is_read_chunk(chunk)) continue;
    length += wire::xdr_padded(chunk.length);
    if (!last && chunk.position != 0) end = std::min<std::uint64_t>(end, chunk.position);
  }
  if (last) end = std::min(end, last->end);
  RpcNote rpc;
  rpc.bytes = std::move(rebuilt);
  rpc.bytes.resize(static_cast<std::size_t>(end));
  rpc.length = static_cast<std::uint32_t>(end);
  rpc.reported_length =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(length, end, std::uint64_t{INT32_MAX}));
  return rpc;
}

RpcNote whole_rpc(std::vector<std::uint8_t> bytes) {
  RpcNote rpc;
  rpc.bytes = std::move(bytes);
  rpc.length = rpc.reported_length = static_cast<std::uint32_t>(rpc.bytes.size());
  return rpc;
}

// Returns whether a Reply's Write chunks carried data.
bool writes(const wire::HeaderView& header) {
  for (const auto& chunk : header.writes) {
    for (const wire::Segment& segment : chunk) {
      if (segment.length != 0) return true;
    }
  }
  return false;
}

std::uint32_t reply_chunk_length(const model::Message& reply) {
  std::uint64_t sum = 0;
  for (const wire::Segment& segment : reply.reply_segments) sum += segment.length;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, INT32_MAX));
}

std::string end_text(const roce::Side& side) {
  std::string text = side.address.to_string();
  if (side.qpn_known) text += (side.is_port ? " port " : " QP ") + std::to_string(side.qpn);
  return text;
}

const char* which(bool client, bool server) {
  if (client && server) return "both";
  return client ? "client" : server ? "server" : "neither";
}

}  // namespace

Session::Impl::Impl(const Options& options)
    : is_dissected(options.is_dissected),
      session({.model = model_options(options),
               .rules =
                   rules::Findings::Options{options.profile,
                                            [this](const rules::Occurrence& o) { on_finding(o); }}},
              {.after_rules = {this}, .events = {this}}),
      context(session.context()) {}

FrameAnnotation& Session::Impl::note(std::uint64_t frame) {
  // Results about a frame that has not arrived yet go to the newest one.
  frame = std::min(frame, newest);
  return note_of_packet(frame, frame == newest ? newest_packet : 0);
}

FrameAnnotation& Session::Impl::note_of_packet(std::uint64_t frame, std::uint32_t packet) {
  const auto made = [this](Ref ref) {
    if (ref != 0) return ref;
    frames.emplace_back();
    return static_cast<Ref>(frames.size());
  };
  if (frame >= frame_refs.size()) frame_refs.resize(frame + 1);
  Ref ref = frame_refs[frame] = made(frame_refs[frame]);
  for (; packet != 0; --packet) {
    // A deque: push_back() does not move its elements.
    Ref& next = frames[ref - 1].next_packet;
    ref = next = made(next);
  }
  return frames[ref - 1];
}

FrameAnnotation& Session::Impl::note(std::uint64_t frame, const roce::Connection& connection) {
  FrameAnnotation& n = note(frame);
  n.connection = context.connection_id(connection.index);
  return n;
}

void Session::Impl::reported_by(FrameAnnotation& n, const roce::Connection& connection,
                                std::size_t side) {
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

void Session::Impl::write(FieldLog& field_log, const filter::Inputs& in,
                          const filter::FieldSet& fields) {
  draft.clear();
  FieldLogSink sink(draft);
  filter::model_fields(in, fields, sink);
  field_log.assign(draft.begin(), draft.end());
}

void Session::Impl::conclude(MessageNote& n, const model::Message& m, const model::Call* call) {
  n.connection = context.connection_id(m.connection);
  n.match_frame = m.match_frame;
  n.latency_ns = m.latency_ns;
  // A Call's summary does not depend on its end.
  const bool reverse = context.model->reverse(m);
  const bool said = m.kind == Kind::kCall && !n.summary.empty() && n.reverse == reverse &&
                    n.procedure_known == m.rpc.known;
  n.reverse = reverse;
  if (!said) {
    // If Wireshark's own dissector shows the RPC message, and the frame is shown only once, a brief
    // summary is enough.
    const bool brief = use == Use::kOnceWithoutFields && n.rpc_frame == m.frame && !n.orphan &&
                       m.rpc.known && m.rpc.header_seen && is_dissected != nullptr &&
                       is_dissected(m.rpc.program);
    n.summary = brief ? report::transport_summary(m, context, {})
                      : report::message_summary(m, call, context, {});
    n.procedure_known = m.rpc.known;
    if (m.rpc.known) {
      n.procedure = model::procedure_of(m.rpc);
      n.label = report::procedure_label(m.rpc);
    }
  }
  if (use == Use::kOnceWithoutFields) return;
  const filter::Inputs in = context.inputs(m, call, 0);
  write(n.before, in, fields_before());
  // The operations of a Call are complete when it is over.
  const bool waits = m.kind == Kind::kCall && m.match_frame == 0;
  write(n.behind, in, waits ? fields_of_ledger() : fields_behind());
  if (call == nullptr) return;
  n.operations.clear();
  for (const model::ChunkOperation& o : call->operations) {
    // Both messages have the Write list and the Reply chunk; each has a Read list of its own.
    if (o.list == (m.kind == Kind::kCall ? model::ChunkList::kReplyRead : model::ChunkList::kRead))
      continue;
    n.operations.push_back(o);
    n.operations.back().list = model::counted_list(o.list);  // as the message's own header has it
  }
}

void Session::Impl::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  const model::Call* const call = event.call;
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
  // A Reply or RDMA_ERROR ends its Call, and is concluded together with it.
  const bool answers = call != nullptr && (m.kind == Kind::kReply || m.kind == Kind::kError);
  FrameAnnotation& frame = note(m.frame);
  frame.connection = n.connection;
  frame.message = static_cast<Ref>(m.id);
  const roce::Connection& c = context.connection(m);
  if (c.recorded) {
    reported_by(frame, c, context.sender(m));
  } else if (frame.message == m.id && context.model->connection(c.index).messages <= 2) {
    for (std::uint8_t side = 0; side < c.side.size(); ++side) {
      const roce::Side& s = c.side[side];
      if (s.qpn_known) receivers[receiver(s.address.bytes, s.qpn)] = {c.index, side};
    }
  }
  if (call != nullptr && m.kind == Kind::kCall) {
    if (model::may_be_padded(m) || (!model::is_external(m) && !has_read_chunks(m)))
      call_is_here(*call);
  } else if (m.kind == Kind::kReply) {
    reply_is_here(m, call);
  }
  if (!answers) conclude(n, m, call);
}

void Session::Impl::on_identified(const model::Call& call) {
  conclude(message(call.message.id), call.message, &call);
}

void Session::Impl::on_call_end(const model::CallEnded& event) {
  const model::Call& call = event.call;
  const model::Message* const answer = event.answer;
  const auto id = static_cast<Ref>(call.message.id);
  // Answered before its Read chunks were read: no frame has its RPC message yet.
  if (message(id).rpc_frame == 0 && call.message.header_length != 0 && is_being_read(id)) {
    RpcNote rpc = front_of_rpc(call, model::rebuild_call(call).bytes);
    rpc.conversation = conversation(call.message);
    if (rpc.length != 0) late_calls.emplace(id, std::move(rpc));
  }
  conclude(message(id), call.message, &call);
  if (answer != nullptr) conclude(message(answer->id), *answer, &call);
}

void Session::Impl::on_reply_read(const model::ReplyRead& event) {
  reply_is_here(event.reply, &event.call);
  conclude(message(event.reply.id), event.reply, &event.call);
}

bool Session::Impl::is_being_read(Ref call) const {
  return std::any_of(open_operations.begin(), open_operations.end(),
                     [&](const auto& open) { return operations[open.second - 1].call == call; });
}

void Session::Impl::place(const model::Message& m, RpcNote rpc) {
  const auto id = static_cast<Ref>(m.id);
  if (message(id).rpc_frame != 0) return;
  // It may have been dissected while it was held back.
  const auto held = held_rpcs.find(m.frame);
  if (held != held_rpcs.end() && rpc.in_send) {
    rpc.conversation = held->second.conversation;
    return attach(id, m.frame, std::move(rpc));
  }
  if (rpc.in_send && note(newest).message != id) {  // held back: its Send is in an earlier packet
    rpc.in_send = false;
    const auto begin = m.bytes.begin() + std::min<std::ptrdiff_t>(rpc.offset, std::ssize(m.bytes));
    rpc.bytes.assign(begin, begin + std::min<std::ptrdiff_t>(rpc.length, m.bytes.end() - begin));
    rpc.length = static_cast<std::uint32_t>(rpc.bytes.size());
  }
  attach(id, newest, std::move(rpc));
}

void Session::Impl::attach(Ref id, std::uint64_t to, RpcNote rpc) {
  MessageNote& n = message(id);
  n.rpc_frame = to;
  n.conversation = rpc.conversation;
  rpc.message = id;
  rpcs.push_back(std::move(rpc));
  FrameAnnotation& frame = note(to);
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

RpcNote Session::Impl::inline_rpc(const model::Message& m) {
  RpcNote rpc;
  rpc.in_send = true;
  rpc.offset = m.header_length;
  const auto captured = static_cast<std::uint32_t>(m.bytes.size());
  rpc.length = captured > rpc.offset ? captured - rpc.offset : 0;
  rpc.reported_length = m.wire_length > rpc.offset
                            ? static_cast<std::uint32_t>(m.wire_length - rpc.offset)
                            : rpc.length;
  return rpc;
}

RpcNote Session::Impl::front_of_inline_rpc(const model::Message& m) {
  RpcNote rpc = inline_rpc(m);
  const auto header = wire::decode_rpc(payload_of(m));
  if (!header) return rpc;
  const std::uint32_t end =
      model::may_be_padded(m) ? end_before_padding(m, header->length) : header->length;
  rpc.length = std::min(rpc.length, end);
  return rpc;
}

std::uint32_t Session::Impl::conversation(const model::Message& m) const {
  return context.model->canonical(m.connection) * 2 + (context.model->reverse(m) ? 1 : 0);
}

void Session::Impl::call_is_here(const model::Call& call) {
  const model::Message& m = call.message;
  if (m.header_length == 0) return;
  RpcNote rpc;
  if (model::may_be_padded(m)) {
    rpc = front_of_inline_rpc(m);
  } else if (!model::is_external(m) && !has_read_chunks(m)) {
    rpc = m.padding.empty() ? inline_rpc(m) : whole_rpc(model::inline_message(m));
  } else {
    model::Rebuilt rebuilt = model::rebuild_call(call);
    rpc = rebuilt.complete() || add_roundup(call, rebuilt)
              ? whole_rpc(std::move(rebuilt.bytes))
              : front_of_rpc(call, std::move(rebuilt.bytes));
    if (rpc.length == 0) return;
  }
  rpc.conversation = conversation(m);
  place(m, std::move(rpc));
}

void Session::Impl::reply_is_here(const model::Message& reply, const model::Call* call) {
  if (reply.header_length == 0) return;
  // It is whole when its Read chunks were read.
  if (call != nullptr && call->reply == nullptr && has_read_chunks(reply)) return;
  const bool written = std::any_of(reply.write_segments.begin(), reply.write_segments.end(),
                                   [](const wire::Segment& s) { return s.length != 0; });
  // Without its Call, Wireshark's dissectors cannot decode the results, complete or not. The same
  // applies if the Reply came before the Call was dissected.
  const bool orphan = call == nullptr || message(call->message.id).rpc_frame == 0;
  const bool external = model::is_external(reply);
  model::Rebuilt rebuilt;
  const bool whole = !written && !has_read_chunks(reply) && reply.padding.empty();
  if (call != nullptr && !model::may_be_padded(reply) && (external || !whole)) {
    rebuilt = model::rebuild_reply(*call, reply);
  }
  RpcNote rpc;
  // A Reply chunk can be returned empty, but an RPC message cannot be empty.
  if (rebuilt.complete() && !rebuilt.bytes.empty()) {
    rpc = whole_rpc(std::move(rebuilt.bytes));
  } else if (external) {
    // The part before the first gap.
    if (written || rebuilt.bytes.empty()) return;
    rpc = whole_rpc(std::move(rebuilt.bytes));
    rpc.reported_length = std::max(rpc.length, reply_chunk_length(reply));
  } else {
    const bool as_it_was = whole && !model::may_be_padded(reply);
    rpc = !reply.padding.empty() && !written ? whole_rpc(model::inline_message(reply))
          : orphan || as_it_was              ? inline_rpc(reply)
                                             : front_of_inline_rpc(reply);
  }
  // Wireshark must match the Reply with its Call, even if the connection's two directions were
  // joined in the meantime.
  rpc.conversation = orphan ? conversation(reply) : message(call->message.id).conversation;
  message(reply.id).orphan = orphan;
  place(reply, std::move(rpc));
}

// The tracker holds back a packet behind a gap until the gap is explained. Wireshark's dissectors
// match Calls and Replies in the order of frames, so they get an RPC message that is complete in
// its Send at once.
const RpcNote* Session::Impl::hold_rpc(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                       std::span<const std::uint8_t> send) {
  const auto to = receivers.find(receiver(address, qpn));
  const auto header = wire::decode_header(send);
  if (to == receivers.end() || !header || header->proc != wire::Proc::kMsg ||
      !header->reads.empty() || !model::recognise(send)) {
    return nullptr;
  }
  const auto rpc = wire::decode_rpc(send.subspan(header->length));
  if (!rpc) return nullptr;
  const bool call = rpc->type == wire::MsgType::kCall;
  if (!call && writes(*header)) return nullptr;
  const std::uint32_t connection = context.model->canonical(to->second.connection);
  // A connection that was merged into another one is its other direction.
  const int receiving = connection == to->second.connection ? to->second.side : 1 - to->second.side;
  const auto caller = static_cast<std::uint8_t>(call ? 1 - receiving : receiving);
  RpcNote note;
  note.in_send = true;
  note.offset = header->length;
  note.length = note.reported_length = static_cast<std::uint32_t>(send.size()) - header->length;
  note.conversation =
      connection * 2 + (context.model->connection(connection).reverse(caller) ? 1 : 0);
  return &held_rpcs.emplace(newest, note).first->second;
}

void Session::Impl::on_cm(const roce::CmMessage& event) {
  if (event.connection != nullptr) note(event.meta.frame, *event.connection);
}

void Session::Impl::on_refusal(const roce::Acknowledgement& event) {
  if (context.model->connection(event.connection.index).messages == 0) return;
  note(event.meta.frame, event.connection).refusal =
      event.aeth.is_rnr() ? "RNR NAK: no Receive is posted" : wire::nak_name(event.aeth.value());
}

void Session::Impl::on_sent_again(const roce::RepeatedRequest& event) {
  if (context.model->connection(event.connection.index).messages == 0) return;
  note(event.meta.frame, event.connection).sent_again = true;
}

void Session::Impl::on_operation(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  const model::Call* const call = event.call;
  if (call == nullptr || event.segment >= call->segments.size()) return;
  const model::CallSegment& target = call->segments[event.segment];
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
  open_operations[operation_key(event.connection, op)] = ref;
  note(op.first_frame, event.connection).operation = ref;
}

void Session::Impl::on_operation_data(const model::OperationProgress& event) {
  const auto it = open_operations.find(operation_key(event.connection, event.op));
  if (it != open_operations.end())
    note(event.op.last_frame, event.connection).operation = it->second;
}

void Session::Impl::on_operation_end(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  const model::Call* const call = event.call;
  const auto it = open_operations.find(operation_key(event.connection, op));
  if (it == open_operations.end()) return;
  OperationNote& n = operations[it->second - 1];
  n.operation.last_frame = op.last_frame;
  n.operation.last_ns = op.last_ns;
  n.operation.bytes = op.bytes;
  n.operation.complete = op.complete;
  n.operation.suspect = op.suspect;
  n.ended = true;
  const Ref of = n.call;
  open_operations.erase(it);
  const auto late = late_calls.find(of);
  if (late != late_calls.end() && !is_being_read(of)) {
    attach(of, newest, std::move(late->second));
    late_calls.erase(late);
  }
  if (call == nullptr || op.kind != roce::OpKind::kRead) return;
  if (call->reply != nullptr && event.segment >= call->own_segments) return;  // see on_reply_read()
  if (read_whole(*call, 0) || (read_whole(*call, kMaxRoundup) && every_segment_was_read(*call) &&
                               !is_being_read(static_cast<Ref>(call->message.id)))) {
    call_is_here(*call);
  }
}

void Session::Impl::on_event(const trace_reader::Event& event) {
  // A Send is shown as its message.
  if (event.type() == trace::EventType::kMessage) return;
  EventNote& n = events.emplace_back();
  n.summary = report::event_summary(event, {});
  FieldLogSink sink(n.fields);
  trace_reader::decode_event(event, sink);
  FrameAnnotation& frame = event.connection != nullptr ? note(event.meta.frame, *event.connection)
                                                       : note(event.meta.frame);
  frame.event = static_cast<Ref>(events.size());
  if (event.connection != nullptr) reported_by(frame, *event.connection, event.local);
}

// Updates a finding about a condition that lasts, or has ended.
void Session::Impl::sum_up(const rules::Occurrence& o) {
  const rules::Evidence& e = o.evidence;
  const std::uint32_t connection = context.connection_id(e.connection->index);
  for (auto n = findings.rbegin(); n != findings.rend(); ++n) {
    if (n->rule != o.rule.id || n->connection != connection || n->since_ns != e.span.since_ns) {
      continue;
    }
    n->text = o.text + " (" + rules::span_text(e.span) + ")";
    return;
  }
}

void Session::Impl::on_finding(const rules::Occurrence& o) {
  if (o.evidence.phase != rules::ReportPhase::kFound) return sum_up(o);
  FindingNote& n = findings.emplace_back();
  const rules::Evidence& e = o.evidence;
  n.rule = o.rule.id;
  n.severity = o.severity;
  n.count = e.count;
  n.of = e.of;
  n.topic = e.of != 0 ? e.topic : 0;
  n.text = o.text;
  n.since_ns = e.span.since_ns;
  if (n.since_ns != 0) n.text += " (" + rules::span_text(e.span) + ")";
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
  FrameAnnotation& frame = note(n.frame);
  const auto ref = static_cast<Ref>(findings.size());
  (frame.finding == 0 ? frame.finding : findings[frame.last_finding - 1].next) = ref;
  frame.last_finding = ref;
}

void Session::Impl::on_evict(const roce::Connection& connection) {
  // The connection's state is deleted after this: copies it now.
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
  r.unmatched_operations = cm.unmatched_operations;
  return &r;
}

}  // namespace rpcrdma::annotations
