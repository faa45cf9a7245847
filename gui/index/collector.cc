// Everything except rows is small or bounded: kinds of findings, procedures and outcomes, credits
// of connections, slow Calls. Rows are appended, and each is changed once, when its Call is over.
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

// The limit fits any capture seen so far; texts beyond it all get the same entry.
constexpr std::size_t kMaxTexts = 65536;
constexpr std::size_t kMaxKinds = 4096;       // of findings
constexpr std::size_t kMaxFound = 1'000'000;  // findings on messages that a search can find
constexpr std::size_t kMaxNotable = 10'000;
constexpr std::size_t kMaxSetUpFrames = 16;  // of one connection
constexpr std::size_t kMaxChunkSums = 1024;  // connections
constexpr std::size_t kMaxProcedures = 512;  // with times: 45 KiB each
constexpr std::size_t kMaxAsked = 65536;

std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
}

template <typename T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
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

template <typename T>
T& at(std::vector<T>& list, std::size_t i) {
  if (i >= list.size()) list.resize(i + 1);
  return list[i];
}

}  // namespace

Collector::Collector(Store& store, const LoadOptions& options, std::uint64_t sources)
    : store_(store),
      sources_(sources),
      analysis_({.profile = options.profile,
                 .model = {.dialect = options.dialect, .check_icrc = options.check_icrc},
                 .after_rules = {&states_, this},
                 .event_observers = {&states_, this},
                 .on_occurrence = [this](const rules::Occurrence& o) { on_finding(o); },
                 .join_views = options.join_views}),
      context_(analysis_.context()) {
  store_.write([&](Content& c) { c.check_icrc = options.check_icrc; });
}

void Collector::mark(const capture::Mark& mark) {
  marks_.push_back(mark);
}

std::uint32_t Collector::procedure_of(const model::RpcInfo& rpc) {
  if (!rpc.known) return 0;
  draft_.clear();
  append(draft_, rpc.program);
  append(draft_, rpc.version);
  append(draft_, rpc.procedure);
  append(draft_, rpc.ops.announced);
  append(draft_, rpc.ops.minor);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) append(draft_, rpc.ops.op[i]);
  if (const auto it = procedures_.find(draft_); it != procedures_.end()) return it->second;
  if (procedures_.size() == kMaxTexts) return 0;
  const auto ref = static_cast<std::uint32_t>(procedures_.size() + 1);
  procedures_.emplace(draft_, ref);
  std::string label = report::procedure_label(rpc);
  constexpr std::string_view kNfs = "NFS v";
  const std::size_t version = label.starts_with(kNfs) ? label.find(' ', kNfs.size()) : label.npos;
  std::string brief = version != label.npos ? label.substr(version + 1) : label;
  new_procedures_.push_back({rpc, std::move(label), report::rpc_label(rpc), std::move(brief)});
  return ref;
}

std::uint32_t Collector::outcome_of(const model::RpcInfo& rpc) {
  if (!rpc.header_seen) return 0;
  draft_.clear();
  append(draft_, rpc.reply_stat);
  append(draft_, rpc.accept_stat);
  append(draft_, rpc.reject_stat);
  append(draft_, rpc.has_status);
  append(draft_, rpc.status);
  append(draft_, rpc.wrapping);
  // The name of a status depends on the program.
  append(draft_, rpc.program);
  append(draft_, rpc.version);
  if (const auto it = outcomes_.find(draft_); it != outcomes_.end()) return it->second;
  if (outcomes_.size() == kMaxTexts) return 0;
  const auto ref = static_cast<std::uint32_t>(outcomes_.size() + 1);
  outcomes_.emplace(draft_, ref);
  new_outcomes_.push_back({rpc, report::reply_status(rpc)});
  return ref;
}

void Collector::credit(const model::Message& m) {
  if (m.kind != Kind::kCall && m.kind != Kind::kReply && m.kind != Kind::kError) return;
  // A chart of credits shows both values, so it begins where both are known.
  if (!m.credits.requested_known || !m.credits.granted_known) return;
  credits_.push_back(
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
  row.procedure = procedure_of(m.rpc);
  if (m.kind == Kind::kReply) row.outcome = outcome_of(m.rpc);
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
  rows_.push_back(row);
  credit(m);
  touch(m.connection);
  if (m.kind == Kind::kCall && call != nullptr) {
    note_file(*call, false);
    for (const model::CallChunk& chunk : call->chunks) {
      offered_.push_back({m.connection, static_cast<std::uint8_t>(chunk.list), chunk.length});
    }
  }
}

void Collector::note_latest(Latest& latest, const model::Message& m) {
  latest.ring[latest.next++ % latest.ring.size()] = {m.frame, m.id};
}

void Collector::patch(const model::Message& m, const model::Call& call, bool over) {
  std::uint64_t moved = 0;
  for (const model::CallChunk& chunk : call.chunks) moved += chunk.moved;
  patches_.push_back({m.id, m.latency_ns, 0, moved, saturated(call.operations_total),
                      procedure_of(m.rpc), over, 0});
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
  details_.push_back({call.message.id, detail});
}

void Collector::on_identified(const model::Call& call) {
  patch(call.message, call, false);
  note_file(call, false);
}

void Collector::on_call_end(const model::CallEnded& event) {
  const model::Call& call = event.call;
  const model::Message* const answer = event.answer;
  patch(call.message, call, true);
  if (answer != nullptr) patches_.back().match = answer->id;
  note_file(call, true);
  const model::Message& m = call.message;
  const bool reverse = context_.model->reverse(m);
  Ended e{key_of(m.rpc, reverse),
          patches_.back().procedure,
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
    details_.push_back({m.id, detail});
  }
  ended_.push_back(e);
  const roce::Connection& c = context_.connection(m);
  if (c.recorded && asked_.size() < kMaxAsked) {
    asked_[asked_key(context_.model->canonical(m.connection), m.xid)] = {e.key, m.id};
  }
}

void Collector::on_reply_read(const model::ReplyRead& event) {
  patch(event.reply, event.call, true);
  if (event.reply.rpc.header_seen) patches_.back().outcome = outcome_of(event.reply.rpc);
}

void Collector::set_up(std::uint32_t index, std::uint64_t frame) {
  set_up_.emplace_back(context_.model->canonical(index), frame);
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
  merged_.emplace_back(event.from.index, into.index);
  touch(into.index);
}

void Collector::on_evict(const roce::Connection& connection) {
  options_.erase(connection.index);
  read_replies_.erase(connection.index);
  peers_of_.erase(connection.index);
  sampled_.erase(connection.index);
  evict_.push_back(info(connection.index));
  touched_.erase(connection.index);
}

void Collector::on_operation_end(const model::OperationSeen& event) {
  const model::Call* const call = event.call;
  if (call == nullptr || event.segment >= call->segments.size()) return;
  moved_.push_back(
      {event.connection.index,
       static_cast<std::uint8_t>(model::counted_list(call->segments[event.segment].list)),
       event.op.last_ns, event.op.bytes});
}

void Collector::on_congestion(const roce::CongestionSignal& event) {
  signals_.push_back({event.connection.index, static_cast<std::uint8_t>(event.sender), event.cnp,
                      event.meta.time_ns});
}

void Collector::on_pause(const model::PauseSeen& event) {
  if (event.pause.paused == 0) return;
  paused_.push_back({event.pause.paused, event.pause.by_class, event.time_ns});
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
  parts_.push_back({it->second.key,
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
  details_.push_back({it->second.message, detail});
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
      credits_.push_back({index,
                          event.side(credits->side),
                          granted.has_value(),
                          {event.meta.time_ns, 0, credits->requested, granted.value_or(0),
                           credits->in_use, credits->waiting, trace::credit_limit(*credits)}});
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
  notable_.push_back({event.meta.frame, event.meta.time_ns,
                      index == none ? 0 : context_.connection_id(index),
                      report::event_summary(event, {})});
}

// Packets alone do not show where Calls are: there is nothing to sample.
void Collector::sample_states(const roce::Connection* connection, std::int64_t time_ns) {
  if (connection == nullptr) return;
  const std::uint32_t index = context_.model->canonical(connection->index);
  if (index >= kMaxChunkSums) return;
  auto it = sampled_.find(index);
  if (it == sampled_.end()) {
    if (states_.counts(index).visible == 0) return;
    it = sampled_.emplace(index, Sampled{}).first;
  }
  Sampled& sampled = it->second;
  sampled.latest_ns = std::max(sampled.latest_ns, time_ns);
  if (time_ns - sampled.sampled_ns < kSampleNs) return;
  sampled.sampled_ns = time_ns;
  samples_.push_back({index, time_ns, states_.counts(index)});
}

void Collector::sample_all_states() {
  for (auto& [index, sampled] : sampled_) {
    if (sampled.latest_ns == sampled.sampled_ns) continue;
    sampled.sampled_ns = sampled.latest_ns;
    samples_.push_back({index, sampled.latest_ns, states_.counts(index)});
  }
}

void Collector::put_states(Content& to) {
  for (const StatesSample& s : samples_) {
    auto& log = at(to.states, context_.model->canonical(s.connection));
    if (log == nullptr) log = std::make_unique<StatesLog>();
    // When a connection has ended, none of its Calls is outstanding.
    const bool ended = s.counts.visible == 0;
    const std::uint8_t visible = log->now.visible;
    log->now = s.counts;
    if (ended) log->now.visible = visible;
    StatesBin sample;
    sample.most = sample.last = s.counts.calls;
    sample.any = true;
    log->over_time.at(s.time_ns).join(sample);
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
  Violation b{&o.rule,
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
  violations_.push_back(std::move(b));
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

void Collector::put_rows(Content& to) {
  for (const MessageRow& row : rows_) to.rows.push_back(row);
  for (const Patch& p : patches_) {
    if (p.message == 0 || p.message > to.rows.size()) continue;
    MessageRow& row = to.rows[p.message - 1];
    row.latency_ns = p.latency_ns;
    if (p.match != 0) row.match = p.match;
    row.moved = p.moved;
    row.operations = p.operations;
    if (p.procedure != 0) row.procedure = p.procedure;
    if (p.outcome != 0) row.outcome = p.outcome;
    if (p.over) row.flags |= MessageRow::kOver;
  }
  to.procedures.insert(to.procedures.end(), new_procedures_.begin(), new_procedures_.end());
  to.outcomes.insert(to.outcomes.end(), new_outcomes_.begin(), new_outcomes_.end());
  files_.put(to.files);
  for (const Detail& d : details_) put_detail(to, d);
  for (const auto& [index, frame] : set_up_) {
    if (index >= Content::kMostConnections) continue;
    auto& frames = at(to.set_up, index);
    if (frames.size() < kMaxSetUpFrames) frames.push_back(frame);
  }
  to.marks.insert(to.marks.end(), marks_.begin(), marks_.end());
}

// Later ones complete earlier ones. An endpoint knows its parts better than packets show them.
void Collector::put_detail(Content& to, const Detail& d) {
  if (d.message == 0 || d.message > to.rows.size()) return;
  MessageRow& row = to.rows[d.message - 1];
  if (row.detail == 0) {
    to.details.push_back(d.detail);
    row.detail = saturated(to.details.size());
    return;
  }
  CallDetail& kept = to.details[row.detail - 1];
  if (d.detail.offset != CallDetail::kNoOffset) kept.offset = d.detail.offset;
  if (d.detail.count != CallDetail::kNoCount) kept.count = d.detail.count;
  if (d.detail.file != 0) kept.file = d.detail.file;
  if (d.detail.parts == CallDetail::Parts::kNone) return;
  kept.parts = d.detail.parts;
  kept.part = d.detail.part;
}

void Collector::put_credits(Content& to) {
  for (const Credit& c : credits_) {
    const bool turned = context_.model->canonical(c.connection) != c.connection;
    const std::size_t slot =
        std::size_t{context_.model->canonical(c.connection)} * 2 + (turned ? 1U - c.side : c.side);
    if (slot / 2 >= Content::kMostConnections) continue;
    auto& log = at(to.credits, slot);
    if (log == nullptr) log = std::make_unique<CreditLog>();
    CreditEntry entry = c.entry;
    if (log->size() != 0) {
      const CreditEntry& before = log->entry(log->size() - 1);
      if (!c.has_grant) entry.granted = before.granted;
      // Only endpoints report these values: the latest one is valid.
      if (entry.message != 0) {
        entry.waiting = before.waiting;
        entry.limit = before.limit;
      }
    }
    log->add(entry);
    if (entry.exhausted()) to.activity.at(entry.time_ns).no_credit = true;
  }
}

const std::string& Collector::kind_key(const Violation& b) {
  draft_.assign(b.rule->name);
  append(draft_, b.severity);
  append(draft_, b.connection);
  append(draft_, b.topic);
  draft_ += b.peer;
  return draft_;
}

// Updates the text and spans of a finding that was counted before.
void Collector::sum_up(Content& to, const Violation& b) {
  const auto it = kinds_.find(kind_key(b));
  if (it == kinds_.end()) return;
  FoundKind& kind = to.kinds[it->second];
  kind.text = b.text;
  for (rules::Span& span : kind.spans) {
    if (span.since_ns == b.span.since_ns) span.until_ns = b.span.until_ns;
  }
}

void Collector::put_findings(Content& to) {
  for (const Violation& b : violations_) {
    if (b.phase != rules::ReportPhase::kFound) {
      sum_up(to, b);
      continue;
    }
    ++to.found_total[static_cast<std::size_t>(b.severity)];
    if (b.connection != 0 && b.connection <= Content::kMostConnections) {
      ++at(to.connections, b.connection - 1).findings[static_cast<std::size_t>(b.severity)];
    }
    auto it = kinds_.find(kind_key(b));
    if (it == kinds_.end()) {
      if (to.kinds.size() == kMaxKinds) continue;
      it = kinds_.emplace(draft_, static_cast<std::uint32_t>(to.kinds.size())).first;
      FoundKind& kind = to.kinds.emplace_back();
      kind.rule = b.rule;
      kind.severity = b.severity;
      kind.connection = b.connection;
      kind.peer = b.peer;
      kind.role = b.role;
      kind.text = b.text;
      kind.advice = b.advice;
    }
    FoundKind& kind = to.kinds[it->second];
    kind.count += b.count;
    if (b.span.since_ns != 0 && kind.spans.size() < rules::kMaxSpans) {
      kind.spans.push_back(b.span);
    }
    if (b.of != 0) kind.text = b.text;  // with the latest numbers
    if (kind.places.size() < FoundKind::kMostPlaces) kind.places.push_back({b.message, b.frame});
    if (b.message == 0 || b.message > to.rows.size()) continue;
    MessageRow& row = to.rows[b.message - 1];
    row.worst = std::min(row.worst, static_cast<std::uint8_t>(b.severity));
    if (to.found.size() == kMaxFound) continue;
    to.found.push_back({b.message, it->second});
    to.kinds_of.emplace(b.message, it->second);
  }
}

void Collector::put_times(Content& to) {
  const auto times_of = [&to](const report::ProcedureKey& key,
                              std::uint32_t procedure) -> ProcedureTimes& {
    auto it = to.times.find(key);
    if (it != to.times.end()) return it->second;
    const bool full = to.times.size() >= kMaxProcedures;
    const report::ProcedureKey used = full ? report::ProcedureKey::others(key.reverse) : key;
    ProcedureTimes& made = to.times[used];
    made.key = used;
    if (made.label.empty()) {
      made.label = full ? "all others"
                   : procedure < to.procedures.size() && procedure != 0
                       ? to.procedures[procedure].label
                       : "not known";
    }
    return made;
  };
  for (const Ended& e : ended_) {
    ProcedureTimes& t = times_of(e.key, e.procedure);
    ++t.calls;
    ++to.calls_over;
    if (e.error) ++t.errors;
    if (e.latency < 0) continue;
    t.total.add(e.latency);
    if (e.before >= 0) {
      t.before_data.add(e.before);
      t.data.add(e.data);
      t.after_data.add(e.after);
    }
    if (t.slowest.size() == ProcedureTimes::kMostSlow && t.slowest.back().latency_ns >= e.latency) {
      continue;
    }
    const ProcedureTimes::Slow slow{e.latency, e.message, e.frame, e.time_ns};
    t.slowest.insert(
        std::upper_bound(t.slowest.begin(), t.slowest.end(), slow,
                         [](const auto& a, const auto& b) { return a.latency_ns > b.latency_ns; }),
        slow);
    if (t.slowest.size() > ProcedureTimes::kMostSlow) t.slowest.pop_back();
  }
  for (const Parts& p : parts_) {
    ProcedureTimes& t = times_of(p.key, 0);
    base::Histogram* const parts[] = {&t.waiting,   &t.sending, &t.turn, &t.completion,
                                      &t.slot_wait, &t.marshal, &t.post};
    for (std::size_t i = 0; i < p.ns.size(); ++i) {
      if (p.ns[i] >= 0) parts[i]->add(p.ns[i]);
    }
  }
  const auto sums_of = [&to, this](std::uint32_t connection) -> ChunkSums* {
    const std::uint32_t index = context_.model->canonical(connection);
    if (index >= kMaxChunkSums) return nullptr;
    auto& sums = at(to.chunks, index);
    if (sums == nullptr) sums = std::make_unique<ChunkSums>();
    return sums.get();
  };
  for (const Moved& m : moved_) {
    if (ChunkSums* const sums = sums_of(m.connection)) {
      sums->over_time.at(m.time_ns).bytes[m.list] += m.bytes;
    }
  }
  for (const Offered& o : offered_) {
    if (ChunkSums* const sums = sums_of(o.connection)) {
      const auto power = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(o.length)),
                                               sums->sizes[o.list].size() - 1);
      ++sums->sizes[o.list][power];
    }
  }
}

void Collector::put_congestion(Content& to) {
  for (const Signal& s : signals_) {
    const std::uint32_t index = context_.model->canonical(s.connection);
    if (index >= kMaxChunkSums) continue;
    auto& series = at(to.congestion, index);
    if (series == nullptr) series = std::make_unique<report::Series<CongestionBin>>();
    CongestionBin& bin = series->at(s.time_ns);
    ++(s.cnp ? bin.cnps : bin.marked)[s.side];
  }
  for (const Paused& p : paused_) {
    PauseBin& bin = to.pauses.at(p.time_ns);
    if (!p.by_class) ++bin.paused.back();
    for (std::size_t n = 0; p.by_class && n < 8; ++n) bin.paused[n] += p.classes >> n & 1U;
  }
}

void Collector::put_activity(Content& to) const {
  for (const MessageRow& row : rows_) {
    if (row.kind == Kind::kCall) ++to.activity.at(row.time_ns).calls;
  }
}

// Moves the data of `from` to `into`: both are directions of one connection.
void Collector::join(Content& to, std::uint32_t from, std::uint32_t into) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t slot = std::size_t{from} * 2 + side;
    if (slot >= to.credits.size() || to.credits[slot] == nullptr) continue;
    const std::unique_ptr<CreditLog> log = std::move(to.credits[slot]);
    auto& kept = at(to.credits, std::size_t{into} * 2 + 1 - side);
    if (kept == nullptr) kept = std::make_unique<CreditLog>();
    kept->merge(*log);
  }
  if (from < to.set_up.size()) {
    const std::vector<std::uint64_t> frames = std::move(to.set_up[from]);
    auto& kept = at(to.set_up, into);
    kept.insert(kept.end(), frames.begin(), frames.end());
  }
  if (from < to.congestion.size() && to.congestion[from] != nullptr) {
    const auto series = std::move(to.congestion[from]);
    auto& kept = at(to.congestion, into);
    if (kept == nullptr) kept = std::make_unique<report::Series<CongestionBin>>();
    for (std::int64_t n = series->first(); n <= series->last(); ++n) {
      const CongestionBin& b = series->bin(n);
      kept->at(n * series->width_ns()).join({{b.marked[1], b.marked[0]}, {b.cnps[1], b.cnps[0]}});
    }
  }
  if (from < to.states.size() && to.states[from] != nullptr) {
    const std::unique_ptr<StatesLog> log = std::move(to.states[from]);
    auto& kept = at(to.states, into);
    if (kept == nullptr) kept = std::make_unique<StatesLog>();
    kept->over_time.merge(log->over_time);
  }
  if (from >= to.chunks.size() || to.chunks[from] == nullptr) return;
  const std::unique_ptr<ChunkSums> sums = std::move(to.chunks[from]);
  auto& kept = at(to.chunks, into);
  if (kept == nullptr) kept = std::make_unique<ChunkSums>();
  kept->over_time.merge(sums->over_time);
  for (std::size_t list = 0; list < sums->sizes.size(); ++list) {
    for (std::size_t i = 0; i < sums->sizes[list].size(); ++i) {
      kept->sizes[list][i] += sums->sizes[list][i];
    }
  }
}

void Collector::put_connections(Content& to) {
  for (const auto& [from, into] : merged_) {
    if (from >= Content::kMostConnections) continue;
    while (to.goes_on_as.size() <= from) {
      to.goes_on_as.push_back(static_cast<std::uint32_t>(to.goes_on_as.size()));
    }
    to.goes_on_as[from] = into;
    join(to, from, into);
    if (from < to.connections.size()) to.connections[from] = {};
  }
  const auto put = [&to](ConnectionInfo info, std::uint32_t index) {
    if (info.id == 0 || index >= Content::kMostConnections) return;
    ConnectionInfo& place = at(to.connections, index);
    info.findings = place.findings;
    place = std::move(info);
  };
  for (ConnectionInfo& info : evict_) {
    const std::uint32_t index = info.id - 1;
    if (info.id != 0) put(std::move(info), index);
  }
  for (const std::uint32_t index : touched_) put(info(index), index);
}

void Collector::put_integrity(Content& to, const capture::SourceStats& source) const {
  const session::Pipeline& pipeline = analysis_.session().pipeline();
  const session::FrameCounts& frames = pipeline.frames();
  Integrity& i = to.integrity;
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
  to.first_ns = frames.first_ns;
  to.last_ns = frames.last_ns;
  to.progress.bytes_read = source.bytes_read;
  to.progress.bytes_total = source.bytes_total;
}

// Adds the findings that follow from the totals, which the rules do not report.
void Collector::put_conclusions(Content& to) const {
  for (const report::Finding& f : report_->findings) {
    const rules::Rule* const rule = f.concluded ? rules::find_rule(f.rule) : nullptr;
    if (rule == nullptr || to.kinds.size() == kMaxKinds) continue;
    ++to.found_total[static_cast<std::size_t>(f.severity)];
    if (f.connection != 0 && f.connection <= to.connections.size()) {
      ++to.connections[f.connection - 1].findings[static_cast<std::size_t>(f.severity)];
    }
    FoundKind& kind = to.kinds.emplace_back();
    kind.rule = rule;
    kind.severity = f.severity;
    kind.connection = f.connection;
    kind.peer = f.peer;
    kind.role = f.role;
    kind.count = f.count;
    kind.spans = f.spans;
    kind.text = f.text;
    kind.advice = f.advice;
    for (const std::uint64_t frame : f.frames) kind.places.push_back({0, frame});
  }
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
  store_.write([&](Content& to) {
    to.report = report_;
    put_rows(to);
    put_connections(to);
    put_credits(to);
    put_findings(to);
    put_times(to);
    put_congestion(to);
    put_activity(to);
    put_states(to);
    put_integrity(to, source);
    to.notable.insert(to.notable.end(), notable_.begin(), notable_.end());
    to.notable_omitted = notable_omitted_;
    if (finished_) put_conclusions(to);
  });
  rows_.clear();
  patches_.clear();
  credits_.clear();
  violations_.clear();
  ended_.clear();
  parts_.clear();
  moved_.clear();
  offered_.clear();
  signals_.clear();
  paused_.clear();
  samples_.clear();
  notable_.clear();
  marks_.clear();
  new_procedures_.clear();
  new_outcomes_.clear();
  details_.clear();
  set_up_.clear();
  merged_.clear();
  touched_.clear();
  evict_.clear();
}

void Collector::finish(const capture::SourceStats& source) {
  analysis_.pipeline().finish();
  analysis_.finish(source, sources_);
  report_ = std::make_shared<const report::Report>(analysis_.take_report());
  finished_ = true;
  commit(source);
}

}  // namespace rpcrdma::index
