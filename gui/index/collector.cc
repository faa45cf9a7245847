// From what the analysis reports to batches for the store.
#include "collector.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/view_text.h>
#include <rpcrdma/rules/rejection.h>
#include <rpcrdma/trace_reader/event_decoder.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::index {

namespace {

using model::Kind;

constexpr std::size_t kMaxNotable = 10'000;
constexpr std::size_t kMaxSampled = 1024;  // connections
constexpr std::size_t kMaxAsked = 65536;

std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
}

std::uint64_t asked_key(std::uint32_t connection, std::uint32_t xid) {
  return std::uint64_t{connection} << 32U | xid;
}

const char* which(bool client, bool server) {
  if (client && server) return "both";
  return client ? "client" : server ? "server" : "neither";
}

const char* transport_of(const roce::Connection& c) {
  if (roce::is_kernel(c.origin)) return "Linux kernel";
  if (c.recorded) {
    return c.side[0].operations_unseen || c.side[1].operations_unseen ? "device" : "soft fabric";
  }
  switch (c.side[0].address.kind) {
    case capture::AddressKind::kIpv4:
    case capture::AddressKind::kIpv6:
      return "RoCEv2";
    case capture::AddressKind::kGid:
      return "RoCEv1";
    case capture::AddressKind::kLid:
      return "InfiniBand";
    case capture::AddressKind::kNone:
      break;
  }
  return "";
}

std::string end_text(const roce::Side& side) {
  std::string text = side.address.to_string();
  if (side.qpn_known) text += fmt::format(" {} {}", side.is_port ? "port" : "QP", side.qpn);
  return text;
}

report::ProcedureKey key_of(const model::RpcInfo& rpc, bool reverse) {
  report::ProcedureKey key;
  key.reverse = reverse;
  if (!rpc.known) return key;
  key.program = rpc.program;
  key.version = rpc.version;
  key.procedure = rpc.procedure;
  key.operation = report::principal_operation(rpc);
  return key;
}

bool failed(const model::Message& answer) {
  if (answer.kind == Kind::kError) return true;
  return answer.rpc.header_seen && (answer.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                                    answer.rpc.accept_stat != wire::AcceptStat::kSuccess);
}

}  // namespace

Collector::Collector(Store& store, const LoadOptions& options, std::uint64_t sources)
    : writer_(store),
      sources_(sources),
      analysis_({.profile = options.profile,
                 .model = {.dialect = options.dialect, .check_icrc = options.check_icrc},
                 .after_rules = {&states_, this},
                 .event_observers = {&states_, this},
                 .on_occurrence = [this](const rules::Occurrence& o) { on_finding(o); },
                 .join_views = options.join_views}),
      context_(analysis_.context()) {
  store.write([&](Content& c) { c.check_icrc = options.check_icrc; });
}

void Collector::mark(const capture::Mark& mark) {
  next_->marks.push_back(mark);
}

void Collector::credit(const model::Message& m) {
  if (m.kind != Kind::kCall && m.kind != Kind::kReply && m.kind != Kind::kError) return;
  // A chart of credits shows both values, so it begins where both are known.
  if (!m.credits.requested_known || !m.credits.granted_known) return;
  next_->credits.push_back(
      {m.connection,
       m.caller,
       true,
       {m.time_ns, m.id, m.credits.requested, m.credits.granted, m.credits.in_use, 0, 0}});
}

void Collector::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  const model::Call* const call = event.call;
  sample_states(&context_.connection(m), m.time_ns);
  MessageRow row;
  row.time_ns = m.time_ns;
  row.frame = m.frame;
  row.first_frame = saturated(m.frame - m.first_frame);
  row.connection = m.connection;
  row.xid = m.xid;
  row.version = m.version;
  row.credit = m.credit;
  row.proc = m.proc;
  row.requested = m.credits.requested;
  row.granted = m.credits.granted;
  row.in_use = m.credits.in_use;
  row.length = saturated(m.wire_length);
  std::uint64_t bytes = 0;
  for (const wire::ReadSegment& s : m.reads) bytes += s.target.length;
  row.read_bytes = saturated(bytes);
  row.read_segments = saturated(m.reads.size());
  bytes = 0;
  for (const wire::Segment& s : m.write_segments) bytes += s.length;
  row.write_bytes = saturated(bytes);
  row.write_chunks = saturated(m.write_counts.size());
  bytes = 0;
  for (const wire::Segment& s : m.reply_segments) bytes += s.length;
  row.reply_bytes = saturated(bytes);
  row.procedure = texts_.procedure_of(m.rpc);
  if (m.kind == Kind::kReply) row.outcome = texts_.outcome_of(m.rpc);
  row.handle = m.invalidated_handle;
  row.error = static_cast<std::uint8_t>(m.error);
  row.kind = m.kind;
  row.sender = m.sender;
  row.caller = m.caller;
  row.dialect = m.dialect;
  const auto set = [&row](MessageRow::Flag flag, bool on) {
    if (on) row.flags = static_cast<std::uint16_t>(row.flags | flag);
  };
  set(MessageRow::kComplete, m.complete);
  set(MessageRow::kSuspect, m.suspect);
  set(MessageRow::kCe, m.ce);
  set(MessageRow::kInvalidates, m.has_invalidate);
  set(MessageRow::kReplyChunk, m.has_reply_chunk);
  set(MessageRow::kHeader, m.header_length != 0);
  set(MessageRow::kOfCall, call != nullptr);
  set(MessageRow::kOver, call == nullptr || m.kind != Kind::kCall);
  set(MessageRow::kXidElsewhere, !m.rpc_xid || *m.rpc_xid != m.xid);
  set(MessageRow::kMoreNeeded, m.malformed.has_value());
  set(MessageRow::kFieldsOnly, model::is_absent(m, roce::kAbsentBytes));
  set(MessageRow::kNoCredit, model::is_absent(m, roce::kAbsentCredit));
  set(MessageRow::kNoLength, model::is_absent(m, roce::kAbsentLengths));
  set(MessageRow::kNoChunkCounts, model::is_absent(m, roce::kAbsentChunks));
  set(MessageRow::kNoRequested, !m.credits.requested_known);
  set(MessageRow::kNoGranted, !m.credits.granted_known);
  if (call != nullptr && m.kind != Kind::kCall) {
    row.match = call->message.id;
    row.latency_ns = m.latency_ns;
    row.operations = saturated(call->operations_total);
    for (const model::CallChunk& chunk : call->chunks) row.moved += chunk.moved;
  } else if (m.kind == Kind::kOption) {
    note_latest(options_[m.connection], m);
  } else if (m.match_frame != 0 && (m.kind == Kind::kError || m.kind == Kind::kDone)) {
    const auto& latest = m.kind == Kind::kError ? options_ : read_replies_;
    if (const auto at = latest.find(m.connection); at != latest.end()) {
      for (const Latest::One& one : at->second.ring) {
        if (one.frame == m.match_frame) row.match = one.id;
      }
    }
    row.latency_ns = m.latency_ns;
  }
  if (m.kind == Kind::kReply && !m.reads.empty()) note_latest(read_replies_[m.connection], m);
  // IDs are consecutive.
  ++messages_;
  next_->rows.push_back(row);
  credit(m);
  touch(m.connection);
  if (m.kind == Kind::kCall && call != nullptr) {
    note_file(*call, false);
    for (const model::CallChunk& chunk : call->chunks) {
      next_->offered.push_back({m.connection, static_cast<std::uint8_t>(chunk.list), chunk.length});
    }
  }
}

void Collector::note_latest(Latest& latest, const model::Message& m) {
  latest.ring[latest.next++ % latest.ring.size()] = {m.frame, m.id};
}

void Collector::patch(const model::Message& m, const model::Call& call, bool over) {
  std::uint64_t moved = 0;
  for (const model::CallChunk& chunk : call.chunks) moved += chunk.moved;
  next_->patches.push_back({m.id, m.latency_ns, 0, moved, saturated(call.operations_total),
                            texts_.procedure_of(m.rpc), over, 0});
}

void Collector::note_file(const model::Call& call, bool over) {
  const model::FileUse* const use = call.file_use();
  if (use == nullptr) return;
  CallDetail detail;
  detail.file = files_.id_of(*use);
  if (use->offset) detail.offset = *use->offset;
  const auto& count = over && use->moved ? use->moved : use->count;
  if (count && *count < CallDetail::kNoCount) detail.count = static_cast<std::uint32_t>(*count);
  if (detail.file == 0 && !use->offset && !count) return;
  next_->details.push_back({call.message.id, detail});
}

void Collector::on_identified(const model::Call& call) {
  patch(call.message, call, false);
  note_file(call, false);
}

void Collector::on_call_end(const model::CallEnded& event) {
  const model::Call& call = event.call;
  const model::Message* const answer = event.answer;
  patch(call.message, call, true);
  if (answer != nullptr) next_->patches.back().match = answer->id;
  note_file(call, true);
  const model::Message& m = call.message;
  const bool reverse = context_.model->reverse(m);
  Batch::Ended e{key_of(m.rpc, reverse),
                 next_->patches.back().procedure,
                 answer != nullptr && failed(*answer),
                 answer != nullptr ? answer->latency_ns : -1,
                 -1,
                 -1,
                 -1,
                 m.id,
                 m.frame,
                 m.time_ns};
  if (answer != nullptr && call.first_op_ns >= 0) {
    e.before = call.first_op_ns - m.time_ns;
    e.data = call.last_op_ns - call.first_op_ns;
    e.after = answer->time_ns - call.last_op_ns;
    CallDetail detail;
    detail.parts = CallDetail::Parts::kPackets;
    detail.part = {ShortTime(e.before), ShortTime(e.data), ShortTime(e.after)};
    next_->details.push_back({m.id, detail});
  }
  next_->ended.push_back(e);
  const roce::Connection& c = context_.connection(m);
  if (c.recorded && asked_.size() < kMaxAsked) {
    asked_[asked_key(context_.model->canonical(m.connection), m.xid)] = {e.key, m.id};
  }
}

void Collector::on_reply_read(const model::ReplyRead& event) {
  patch(event.reply, event.call, true);
  if (event.reply.rpc.header_seen)
    next_->patches.back().outcome = texts_.outcome_of(event.reply.rpc);
}

void Collector::set_up(std::uint32_t index, std::uint64_t frame) {
  next_->set_up.emplace_back(context_.model->canonical(index), frame);
}

void Collector::on_cm(const roce::CmMessage& event) {
  const roce::Connection* const connection = event.connection;
  const wire::CmMad& mad = event.mad;
  if (connection == nullptr) return;
  const bool sets_up = std::holds_alternative<wire::CmReq>(mad.message) ||
                       std::holds_alternative<wire::CmRep>(mad.message) ||
                       std::holds_alternative<wire::CmRtu>(mad.message);
  if (sets_up) set_up(connection->index, event.meta.frame);
  touch(connection->index);
}

void Collector::on_merge(const roce::Merge& event) {
  const roce::Connection& into = event.into;
  for (auto* const latest : {&options_, &read_replies_}) {
    if (const auto of = latest->extract(event.from.index)) {
      if (!latest->contains(into.index)) latest->emplace(into.index, of.mapped());
    }
  }
  next_->merged.emplace_back(event.from.index, into.index);
  last_touched_ = UINT32_MAX;
  touch(into.index);
}

void Collector::on_evict(const roce::Connection& connection) {
  options_.erase(connection.index);
  read_replies_.erase(connection.index);
  peers_of_.erase(connection.index);
  last_touched_ = UINT32_MAX;
  sampled_.erase(connection.index);
  next_->evicted.push_back(info(connection.index));
  touched_.erase(connection.index);
}

void Collector::on_operation_end(const model::OperationSeen& event) {
  const model::Call* const call = event.call;
  if (call == nullptr || event.segment >= call->segments.size()) return;
  next_->moved.push_back(
      {event.connection.index,
       static_cast<std::uint8_t>(model::counted_list(call->segments[event.segment].list)),
       event.op.last_ns, event.op.bytes});
}

void Collector::on_congestion(const roce::CongestionSignal& event) {
  next_->signals.push_back({event.connection.index, static_cast<std::uint8_t>(event.sender),
                            event.cnp, event.meta.time_ns});
}

void Collector::on_pause(const model::PauseSeen& event) {
  if (event.pause.paused == 0) return;
  next_->paused.push_back({event.pause.paused, event.pause.by_class, event.time_ns});
}

void Collector::parts(const trace_reader::Event& event, const trace::CallEnd& end) {
  if (event.connection == nullptr) return;
  // The parts add up to the latency only if the same observer measured both. Packets are joined
  // with the endpoint that made the Call.
  const bool same_observer =
      event.connection->recorded ? event.connection->recorder == event.local : end.side == 0;
  if (!same_observer) return;
  const auto key = asked_key(context_.model->canonical(event.connection->index), end.xid);
  std::int64_t waited = -1;
  if (const auto it = waited_.find(key); it != waited_.end()) {
    waited = it->second.took_ns;
    waited_.erase(it);
  }
  if (end.side == 0) waited = std::max(waited, end.credit_wait);
  const auto it = asked_.find(key);
  if (it == asked_.end()) return;
  const auto between = [](std::int64_t from, std::int64_t to) {
    return from != 0 && to != 0 && to >= from ? to - from : std::int64_t{-1};
  };
  next_->parts.push_back({it->second.key,
                          {waited, between(end.called, end.sent), between(end.sent, end.replied),
                           between(end.replied, end.ended), end.slot_wait, end.marshal, end.post}});
  CallDetail detail;
  const std::int64_t before = between(end.called, end.sent);
  if (end.side == 0) {
    // Both come from the writer.
    constexpr std::int64_t kMostNs = INT64_MAX / 4;
    const std::int64_t idle = std::clamp<std::int64_t>(waited, 0, kMostNs) +
                              std::clamp<std::int64_t>(end.slot_wait, 0, kMostNs);
    detail.parts = CallDetail::Parts::kRequester;
    detail.part = {ShortTime(idle),
                   ShortTime(before < 0 ? -1 : std::max<std::int64_t>(0, before - idle)),
                   ShortTime(between(end.sent, end.replied))};
  } else {
    detail.parts = CallDetail::Parts::kResponder;
    detail.part = {ShortTime(before), ShortTime(between(end.sent, end.replied)), ShortTime()};
  }
  next_->details.push_back({it->second.message, detail});
  asked_.erase(it);
}

void Collector::on_event(const trace_reader::Event& event) {
  const std::uint32_t none = UINT32_MAX;
  const std::uint32_t index = event.connection != nullptr ? event.connection->index : none;
  sample_states(event.connection, event.meta.time_ns);
  switch (event.type()) {
    case trace::EventType::kEndpoint:
    case trace::EventType::kConnection:
      if (index != none) set_up(index, event.meta.frame);
      break;
    case trace::EventType::kCredits: {
      const auto credits = trace::read_event<trace::Credits>(event.view);
      if (!credits || index == none) return;
      // Another view of the connection adds the ledger of its own Calls.
      const bool other_view =
          !event.connection->recorded || event.connection->recorder != event.local;
      if (other_view && credits->side != 0) return;
      const auto granted = trace::granted_credits(*credits);
      next_->credits.push_back(
          {index,
           event.side(credits->side),
           granted.has_value(),
           {event.meta.time_ns, 0, credits->requested, granted.value_or(0), credits->in_use,
            credits->waiting, trace::credit_limit(*credits)}});
      return;
    }
    case trace::EventType::kCreditWait: {
      const auto wait = trace::read_event<trace::CreditWait>(event.view);
      if (!wait || index == none) return;
      const auto key = asked_key(context_.model->canonical(index), wait->xid);
      if (wait->begun != 0 && waited_.size() < kMaxAsked) {
        waited_[key].begun_ns = event.meta.time_ns;
      } else if (const auto it = waited_.find(key); wait->begun == 0 && it != waited_.end()) {
        it->second.took_ns = event.meta.time_ns - it->second.begun_ns;
      }
      return;
    }
    case trace::EventType::kCallEnd: {
      const auto end = trace::read_event<trace::CallEnd>(event.view);
      if (end) parts(event, *end);
      return;
    }
    default:
      break;
  }
  if (!trace_reader::is_notable(event)) return;
  if (notable_reported_ == kMaxNotable) {
    ++notable_omitted_;
    return;
  }
  ++notable_reported_;
  next_->notable.push_back({event.meta.frame, event.meta.time_ns,
                            index == none ? 0 : context_.connection_id(index),
                            report::event_summary(event, {})});
}

// Packets alone do not show where Calls are: there is nothing to sample.
void Collector::sample_states(const roce::Connection* connection, std::int64_t time_ns) {
  if (connection == nullptr) return;
  const std::uint32_t index = context_.model->canonical(connection->index);
  if (index >= kMaxSampled) return;
  auto it = sampled_.find(index);
  if (it == sampled_.end()) {
    if (states_.counts(index).visible == 0) return;
    it = sampled_.emplace(index, Sampled{}).first;
  }
  Sampled& sampled = it->second;
  sampled.latest_ns = std::max(sampled.latest_ns, time_ns);
  if (time_ns - sampled.sampled_ns < kSampleNs) return;
  sampled.sampled_ns = time_ns;
  next_->samples.push_back({index, time_ns, states_.counts(index)});
}

void Collector::sample_all_states() {
  for (auto& [index, sampled] : sampled_) {
    if (sampled.latest_ns == sampled.sampled_ns) continue;
    sampled.sampled_ns = sampled.latest_ns;
    next_->samples.push_back({index, sampled.latest_ns, states_.counts(index)});
  }
}

void Collector::endpoint_ended(std::uint32_t endpoint) {
  ended_endpoints_.insert(endpoint);
  const session::Views& views = analysis_.session().pipeline().views();
  for (std::uint32_t i = 0; i < context_.connections->connection_count(); ++i) {
    const std::vector<std::uint32_t> files = views.files_of(i);
    if (std::find(files.begin(), files.end(), endpoint) == files.end()) continue;
    touch(i);
    // What the views have in common ends here.
    peers_of_[i].assign(files.begin() + 1, files.end());
  }
  analysis_.pipeline().source_ended(endpoint);
}

void Collector::on_finding(const rules::Occurrence& o) {
  const rules::Evidence& e = o.evidence;
  Batch::Violation b{&o.rule,
                     o.severity,
                     0,
                     {},
                     {},
                     o.text,
                     o.advice,
                     e.message,
                     e.frames[1] != 0 ? e.frames[1] : e.frames[0],
                     e.count,
                     e.span,
                     e.phase,
                     e.of,
                     e.of != 0 ? e.topic : 0};
  if (e.connection != nullptr) {
    b.connection = context_.connection_id(e.connection->index);
    if (e.side >= 0) {
      b.peer = e.connection->side[static_cast<std::size_t>(e.side)].address.to_string();
      const int client = context_.model->connection(e.connection->index).client;
      if (client >= 0) b.role = e.side == client ? "client" : "server";
    }
    touch(e.connection->index);
  }
  next_->violations.push_back(std::move(b));
}

ConnectionInfo Collector::info(std::uint32_t index) const {
  ConnectionInfo r;
  const roce::Connection* const c = context_.connections->find(index);
  if (c == nullptr || c->merged_away) return r;
  const model::ConnectionModel& cm = context_.model->connection(c->index);
  if (cm.speaks != model::Speaks::kRpc && cm.messages == 0) return r;
  const std::size_t client = cm.client > 0 ? 1 : 0;
  const std::size_t server = 1 - client;
  r.id = context_.connection_id(c->index);
  r.client = static_cast<std::uint8_t>(client);
  r.end = {end_text(c->side[client]), end_text(c->side[server])};
  r.roles = cm.client < 0       ? report::Roles::kUnknown
            : cm.client_certain ? report::Roles::kCertain
                                : report::Roles::kLikely;
  r.set_up_seen = c->setup == roce::Setup::kCm;
  r.recorded = c->recorded;
  r.transport = transport_of(*c);
  const auto observer_of = [](bool recorded, bool by_client) {
    return !recorded ? SeenBy::kPackets : by_client ? SeenBy::kClient : SeenBy::kServer;
  };
  r.observer = observer_of(c->recorded, c->recorder == client);
  const session::Session& session = analysis_.session();
  for (session::View& view : session.pipeline().views().of(c->index)) {
    if (client == 1) view = session::swapped_view(std::move(view));
    r.other_observers.push_back(observer_of(view.recorder >= 0, view.recorder == 0));
    std::string line = "also in " + report::view_name(view);
    const char* before = ": ";
    for (const std::string& part : report::view_text(view)) {
      line += before + part;
      before = "; ";
    }
    r.views.push_back(std::move(line));
  }
  for (const report::Tunnels& t : report::tunnels_of(*c, client)) {
    if (!r.tunnels.empty()) r.tunnels += "; ";
    r.tunnels += report::tunnels_text(t);
  }
  r.version = cm.version;
  r.dialect = cm.dialect;
  r.thresholds = cm.thresholds;
  r.private_data = which(cm.has_private_data[client], cm.has_private_data[server]);
  const auto invalidates = [&](std::size_t side) {
    return cm.has_private_data[side] && cm.private_data[side].remote_invalidation();
  };
  r.invalidation = which(invalidates(client), invalidates(server));
  r.state = c->state;
  if (c->state == roce::State::kRejected) {
    r.ended = "rejected: " + rules::rejection_text(*c);
  } else if (!c->failure.empty()) {
    r.ended = c->failure;
  } else if (c->closed_by >= 0) {
    r.ended = std::string("closed by the ") +
              (static_cast<std::size_t>(c->closed_by) == client ? "client" : "server");
  }
  if (c->state < roce::State::kRejected && !ended_endpoints_.empty()) {
    std::vector<std::uint32_t> files = session.pipeline().views().files_of(c->index);
    r.endpoint_ended = !files.empty() && ended_endpoints_.contains(files.front());
    if (const auto peers = peers_of_.find(c->index); peers != peers_of_.end()) {
      files.insert(files.end(), peers->second.begin(), peers->second.end());
    }
    r.peer_ended = files.size() > 1 && std::any_of(files.begin() + 1, files.end(), [&](auto file) {
                     return ended_endpoints_.contains(file);
                   });
  }
  r.direction = {cm.caller[client], cm.caller[server]};
  r.messages = cm.messages;
  r.inline_bytes = cm.inline_bytes;
  r.chunks = cm.chunks;
  r.chunk_bytes = cm.chunk_bytes;
  for (const roce::Side& side : c->side) {
    r.retransmitted += side.counters.retransmitted;
    r.refused += side.counters.rnr;
    for (const std::uint64_t naks : side.counters.naks) r.refused += naks;
    r.lost += side.counters.lost_capture;
  }
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    const roce::SideCounters& sent = c->side[end == 0 ? client : server].counters;
    r.signals[end] = {sent.packets, sent.ce, sent.cnps};
  }
  r.lost += c->events_lost;
  r.first_ns = c->first_ns;
  r.last_ns = c->last_ns;
  return r;
}

Integrity Collector::integrity(const capture::SourceStats& source) const {
  const session::Pipeline& pipeline = analysis_.session().pipeline();
  const session::FrameCounts& frames = pipeline.frames();
  Integrity i;
  i.frames = frames.total;
  i.cut_short = frames.cut_short;
  i.fragments = frames.fragments;
  i.unknown_link = frames.unknown_link;
  i.unread = frames.unread.by_name();
  i.dropped = pipeline.dropped(source);
  i.file_cut_short = source.cut_short;
  i.damage = source.damage;
  i.note = source.note;
  i.events = pipeline.events();
  i.finished = finished_;
  if (finished_) i.capture_gaps = analysis_.session().checker().capture_gaps();
  return i;
}

void Collector::report_if_due(const capture::SourceStats& source) {
  constexpr int kShare = 20;  // a snapshot takes at most this part of the time
  const auto begin = std::chrono::steady_clock::now();
  if (begin < next_report_) return;
  report_ = std::make_shared<const report::Report>(analysis_.snapshot(source, sources_));
  const auto end = std::chrono::steady_clock::now();
  next_report_ = end + std::max(kReportEvery, kShare * (end - begin));
}

void Collector::commit(const capture::SourceStats& source) {
  if (!finished_) report_if_due(source);
  sample_all_states();
  Batch& b = *next_;
  const auto canonical = [this](std::uint32_t& index) {
    const std::uint32_t now = context_.model->canonical(index);
    return std::exchange(index, now) != now;
  };
  for (Batch::Credit& c : b.credits) {
    // A connection that continues as another one is that one's other direction.
    if (canonical(c.connection)) c.side = c.side == 0 ? 1 : 0;
  }
  for (Batch::Moved& m : b.moved) canonical(m.connection);
  for (Batch::Offered& o : b.offered) canonical(o.connection);
  for (Batch::Signal& s : b.signals) canonical(s.connection);
  for (Batch::StatesSample& s : b.samples) canonical(s.connection);
  b.notable_omitted = notable_omitted_;
  texts_.put(b.procedures, b.outcomes);
  files_.put(b.files);
  for (const std::uint32_t index : touched_) b.touched.emplace_back(index, info(index));
  touched_.clear();
  last_touched_ = UINT32_MAX;
  b.report = report_;
  b.integrity = integrity(source);
  const session::FrameCounts& frames = analysis_.session().pipeline().frames();
  b.first_ns = frames.first_ns;
  b.last_ns = frames.last_ns;
  b.bytes_read = source.bytes_read;
  b.bytes_total = source.bytes_total;
  b.last = finished_;
  next_ = writer_.put(std::move(next_));
}

void Collector::finish(const capture::SourceStats& source) {
  analysis_.pipeline().finish();
  analysis_.finish(source, sources_);
  report_ = std::make_shared<const report::Report>(analysis_.take_report());
  finished_ = true;
  commit(source);
  writer_.wait();
}

}  // namespace rpcrdma::index
