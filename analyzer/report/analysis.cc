// Collects a Report while a session reads a capture: counts messages, Calls and operations as they
// end, and fills in connections, credits, edges and findings at the end.
#include "event_sums.h"
#include "file_tally.h"
#include "latency_collector.h"
#include "slow_limits.h"
#include "summary.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/selection.h>

namespace rpcrdma::report {

namespace {

bool rpc_failed(const model::Message& m) {
  return m.rpc.header_seen && (m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                               m.rpc.accept_stat != wire::AcceptStat::kSuccess);
}

bool failed(const model::Message& m) {
  return m.kind == model::Kind::kError || (m.kind == model::Kind::kReply && rpc_failed(m));
}

// Returns the part of the latency in the responder; -1: not known. Packets and the responder show
// it; a requester does not know when its Call arrived.
std::int64_t in_responder(const model::Call& call, const roce::Connection& c,
                          std::int64_t latency) {
  const bool by_responder = c.recorded && c.recorder != static_cast<int>(call.message.sender);
  if (call.acknowledged_after_ns < 0 && !by_responder) return -1;
  if (c.recorded && !by_responder) return -1;
  const bool data = call.first_op_ns >= 0 && call.last_op_ns >= call.first_op_ns;
  const std::int64_t come = data ? call.first_op_ns - call.message.time_ns : latency;
  // The acknowledgment may come behind the Reply, or behind the first operation.
  if (call.acknowledged_after_ns > come) return -1;
  const std::int64_t way = std::max<std::int64_t>(call.acknowledged_after_ns, 0);
  const std::int64_t moved = data ? call.last_op_ns - call.first_op_ns : 0;
  return std::max<std::int64_t>(latency - way - moved, 0);
}

// Replies and RDMA_ERRORs can answer a Call.
bool may_answer(const model::Message& m) {
  return m.kind == model::Kind::kReply || m.kind == model::Kind::kError;
}

}  // namespace

namespace {

model::ModelOptions model_options(const AnalysisOptions& options) {
  model::ModelOptions model = options.model;
  model.keep_bytes |= options.filter && options.filter->needs_bytes();
  return model;
}

template <typename T>
std::vector<T*> with(std::vector<T*> list, std::type_identity_t<T>* one) {
  list.push_back(one);
  return list;
}

}  // namespace

Analysis::Analysis(AnalysisOptions options)
    : events_(std::make_unique<EventSums>()),
      session_(
          {.model = model_options(options),
           .rules =
               rules::Findings::Options{
                   .profile = options.profile,
                   .on_occurrence =
                       options.filter ? [this](const rules::Occurrence& o) { selection_->found(o); }
                                      : std::move(options.on_occurrence),
                   .emit_sums = false},
           .join_views = options.join_views},
          {.before_rules =
               options.filter ? with(options.observers, &expecting_) : options.observers,
           .after_rules = observed(options.after_rules),
           .events = with(options.event_observers, events_.get())}),
      context_(session_.context()),
      files_(std::make_unique<FileTally>()),
      latencies_(std::make_unique<LatencyCollector>(context_)) {
  mounts_.attach(context_);
  report_.profile = options.profile;
  if (!options.limits.empty()) limits_ = std::make_unique<SlowLimits>(std::move(options.limits));
  if (!options.filter) return;
  report_.filter = std::move(options.filter_text);
  selection_ = std::make_unique<Selection>(
      std::move(*options.filter),
      rules::Findings::Options{.profile = options.profile, .emit_sums = false},
      [this](const model::Message& m, const model::Call* call, const model::Message* answer,
             bool taken) { decided(m, call, answer, taken); },
      session_);
}

Analysis::~Analysis() = default;

std::vector<model::Observer*> Analysis::observed(const std::vector<model::Observer*>& later) {
  std::vector<model::Observer*> all{&mounts_, this};
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

void Analysis::Expecting::on_message(const model::MessageSeen& event) {
  selection->expect(event.message.id);
}

void Analysis::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  const bool of_ledger = m.kind == model::Kind::kCall || m.kind == model::Kind::kReply;
  if (of_ledger) note_credits(m);
  if (!m.complete && model::cut_short(m, context_.connection(m))) ++cut_short_[m.connection];
  if (m.kind == model::Kind::kCall) ++outstanding_;
  TrafficBin& bin = selection_ ? report_.traffic.at(m.time_ns) : count(m);
  if (m.kind == model::Kind::kCall) {
    bin.outstanding_max = std::max(bin.outstanding_max, outstanding_);
  }
  if (selection_) return selection_->on_message(m, event.call);
  if (event.call == nullptr && may_answer(m)) note_early(m, true);
}

TrafficBin& Analysis::count(const model::Message& m) {
  ++report_.messages.kinds[static_cast<std::size_t>(m.kind)];
  std::array<std::uint64_t, 15>& procs =
      procs_[m.version == 2 ? 1 + static_cast<std::size_t>(m.dialect) : 0];
  ++procs[std::min<std::size_t>(m.proc, procs.size() - 1)];
  TrafficBin& bin = report_.traffic.at(m.time_ns);
  if (!model::is_absent(m, roce::kAbsentLengths)) bin.inline_bytes += m.wire_length;
  if (m.kind == model::Kind::kCall) ++bin.calls;
  if (m.kind == model::Kind::kReply) ++bin.replies;
  if (failed(m)) ++bin.errors;
  return bin;
}

void Analysis::decided(const model::Message& m, const model::Call* call,
                       const model::Message* answer, bool taken) {
  if (!taken && call != nullptr) session_.checker().leave_out(m);
  if (taken) {
    count(m);
    if (answer != nullptr) count(*answer);
  }
  if (call == nullptr) {
    if (may_answer(m)) note_early(m, taken);
    return;
  }
  count(*call, answer, taken);
  if (taken) count_operations(*call);
}

// Counts operations at their end times, as without a filter.
void Analysis::count_operations(const model::Call& call) {
  // Bytes of operations that the Call does not list: READ, WRITE.
  std::array<std::uint64_t, 2> more{};
  for (const model::CallChunk& chunk : call.chunks) {
    more[model::is_read_list(chunk.list) ? 0 : 1] += chunk.moved;
  }
  const auto add = [&](std::int64_t time_ns, bool read, std::uint64_t bytes) {
    TrafficBin& bin = report_.traffic.at(time_ns);
    (read ? bin.read_bytes : bin.write_bytes) += bytes;
  };
  for (const model::ChunkOperation& o : call.operations) {
    add(o.last_ns, o.kind == roce::OpKind::kRead, o.bytes);
    std::uint64_t& left = more[model::is_read_list(o.list) ? 0 : 1];
    left -= std::min(left, o.bytes);
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] != 0) add(call.last_op_ns, i == 0, more[i]);
  }
}

void Analysis::note_credits(const model::Message& m) {
  const CreditSlot* slot = credit_slots_.find(m.connection);
  if (slot == nullptr) {
    slot = take_credit_slot(m.connection);
    if (slot == nullptr) return;
  }
  CreditBin& bin = report_.credits[slot->at].direction[m.caller].at(m.time_ns);
  if (m.kind == model::Kind::kCall) {
    bin.request(m.credits.requested_known ? m.credit : 0, m.credits.in_use);
  } else if (m.credits.granted_known) {
    bin.grant(m.credit);
  }
}

// Returns null if there are kMaxCreditSeries already.
const Analysis::CreditSlot* Analysis::take_credit_slot(std::uint32_t connection) {
  std::uint32_t at = static_cast<std::uint32_t>(report_.credits.size());
  if (!free_credits_.empty()) {
    at = free_credits_.back();
    free_credits_.pop_back();
  } else if (at == kMaxCreditSeries) {
    return nullptr;
  } else {
    report_.credits.emplace_back();
  }
  report_.credits[at].connection = connection;
  CreditSlot& slot = credit_slots_[connection];
  slot.at = at;
  return &slot;
}

void Analysis::give_up_credits(std::uint32_t connection) {
  const CreditSlot* slot = credit_slots_.find(connection);
  if (slot == nullptr) return;
  report_.credits[slot->at] = {};
  free_credits_.push_back(slot->at);
  credit_slots_.erase(connection);
}

void Analysis::on_merge(const roce::Merge& event) {
  const roce::Connection& into = event.into;
  const roce::Connection& from = event.from;
  if (selection_) selection_->on_merge(into, from);
  latencies_->merge(into, from);
  if (const auto node = cut_short_.extract(from.index)) cut_short_[into.index] += node.mapped();
  const CreditSlot* const old = credit_slots_.find(from.index);
  if (old == nullptr) return;
  // Side 0 of `from` is side 1 of `into`.
  ConnectionCredits& gathered = report_.credits[old->at];
  if (const CreditSlot* slot = credit_slots_.find(into.index)) {
    ConnectionCredits& to = report_.credits[slot->at];
    for (std::size_t side = 0; side < 2; ++side) {
      to.direction[side].merge(gathered.direction[1 - side]);
    }
    return give_up_credits(from.index);
  }
  std::swap(gathered.direction[0], gathered.direction[1]);
  gathered.connection = into.index;
  credit_slots_[into.index] = *old;
  credit_slots_.erase(from.index);
}

// Adds the connection to the sums. Calls and findings listed later keep its ID.
void Analysis::on_evict(const roce::Connection& connection) {
  if (selection_) selection_->on_evict(connection);
  give_up_credits(connection.index);
  latencies_->evict(connection);
  cut_short_.erase(connection.index);
  if (connection.merged_away) return;
  report_.not_listed.add(summarize(connection, context_.model->connection(connection.index)));
}

// Stores a Reply without a Call. Its Call may be in an earlier capture, unless the connection was
// set up in this one.
void Analysis::note_early(const model::Message& m, bool counted) {
  if (context_.connections->connection(m.connection).setup == roce::Setup::kCm) return;
  Edges& edges = report_.edges;
  if (edges.early_replies.size() >= kMaxEdges) {
    ++edges.omitted;
    return;
  }
  EarlyReply& r = edges.early_replies.emplace_back();
  r.xid = m.xid;
  r.frame = m.frame;
  r.time_ns = m.time_ns;
  r.rdma_error = m.kind == model::Kind::kError;
  r.failed = failed(m);
  r.counted = counted;
  early_ends_.push_back({m.connection, m.caller});
}

void Analysis::note_open(const model::Call& call, const ProcedureKey& key, bool counted) {
  Edges& edges = report_.edges;
  if (edges.open_calls.size() >= kMaxEdges) {
    ++edges.omitted;
    return;
  }
  OpenCall& open = edges.open_calls.emplace_back();
  open.xid = call.message.xid;
  open.frame = call.message.frame;
  open.time_ns = call.message.time_ns;
  open.procedure = key;
  open.counted = counted;
  open_ends_.push_back({call.message.connection, call.message.caller});
}

// `key` may change to that of all others.
Procedure& Analysis::procedure(ProcedureKey& key, const model::RpcInfo& rpc) {
  RecentProcedure& recent = recent_procedures_[(key.procedure ^ key.operation) % kRecentProcedures];
  if (recent.procedure != nullptr && recent.key == key) return *recent.procedure;
  const ProcedureKey wanted = key;
  Procedure& p = procedure_of(report_.procedures, key, [&] { return procedure_label(rpc); });
  if (key == wanted) recent = {key, &p};
  return p;
}

void Analysis::on_call_end(const model::CallEnded& event) {
  if (outstanding_ != 0) --outstanding_;
  if (selection_) return selection_->on_call_end(event.call, event.answer);
  count(event.call, event.answer, true);
}

// Counts the Reads of a Reply's Read chunks. The Call itself was counted when its Reply came, and a
// filter has decided on it by then, so a filtered report leaves these Reads out.
void Analysis::on_reply_read(const model::ReplyRead& event) {
  if (selection_) return;
  const model::Message& m = event.call.message;
  ProcedureKey key{m.rpc.known ? m.rpc.program : UINT32_MAX, m.rpc.version, m.rpc.procedure,
                   principal_operation(m.rpc), context_.model->reverse(m)};
  Procedure& p = procedure(key, m.rpc);
  for (const model::CallChunk& chunk : event.call.chunks) {
    if (chunk.list != model::ChunkList::kReplyRead) continue;
    p.bytes[static_cast<std::size_t>(model::ChunkList::kRead)] += chunk.moved;
  }
  // The header of a Reply in a Read chunk was not known before.
  const bool was_read = std::any_of(event.reply.reads.begin(), event.reply.reads.end(),
                                    [](const wire::ReadSegment& r) { return r.position == 0; });
  if (was_read && failed(event.reply)) ++p.errors;
}

void Analysis::count(const model::Call& call, const model::Message* answer, bool taken) {
  const model::Message& m = call.message;
  const bool reverse = context_.model->reverse(m);
  ProcedureKey key{m.rpc.known ? m.rpc.program : UINT32_MAX, m.rpc.version, m.rpc.procedure,
                   principal_operation(m.rpc), reverse};
  // Returns whether the capture ended before the connection.
  const auto ends_open = [&] {
    const roce::Connection& c = context_.connection(m);
    return call.ending == model::Ending::kClosed && c.state < roce::State::kRejected && !c.evict;
  };
  const bool open = answer == nullptr && ends_open();
  if (!taken) {
    if (call.has_file) {
      files_->note_name(call, context_.connection(m).side[1 - context_.sender(m)], report_.files);
    }
    if (open) note_open(call, key, false);
    return;
  }
  if (call.has_file) {
    files_->count(call, answer, context_.connection(m).side[1 - context_.sender(m)],
                  answer != nullptr && failed(*answer), report_.files);
  }
  Procedure& p = procedure(key, m.rpc);
  ++p.calls;
  for (const model::CallChunk& chunk : call.chunks) {
    p.bytes[static_cast<std::size_t>(model::counted_list(chunk.list))] += chunk.moved;
  }
  if (answer == nullptr) {
    ++p.unmatched;
    if (open) note_open(call, key, true);
    if (limits_ && call.ending == model::Ending::kClosed) {
      const roce::Connection& c = context_.connection(m);
      limits_->count(m, key, p.label, roce::seen_until(c, c.ended_ns) - m.time_ns, false);
    }
    return;
  }
  if (call.ending == model::Ending::kError || failed(*answer)) ++p.errors;
  ++p.replies;
  const std::int64_t latency = answer->time_ns - m.time_ns;
  p.total.add(latency);
  const std::int64_t inside = in_responder(call, context_.connection(m), latency);
  if (inside >= 0) p.in_responder.add(inside);
  if (limits_) limits_->count(m, key, p.label, latency, true);
  latencies_->add(call, *answer, key);
  const bool data = call.first_op_ns >= 0 && call.last_op_ns >= 0;
  if (data) {
    p.before_data.add(call.first_op_ns - m.time_ns);
    p.data.add(call.last_op_ns - call.first_op_ns);
    p.after_data.add(answer->time_ns - call.last_op_ns);
  }
  report_.traffic.at(answer->time_ns).add_latency(latency);
  if (!p.slowest.wants(latency, m.frame) && !report_.slowest.wants(latency, m.frame)) return;
  SlowCall slow;
  slow.latency_ns = latency;
  slow.frame = m.frame;
  slow.reply_frame = answer->frame;
  slow.time_ns = m.time_ns;
  slow.xid = m.xid;
  slow.connection = m.connection;
  slow.reverse = reverse;
  slow.label = p.label;
  if (data) {
    slow.before_data_ns = call.first_op_ns - m.time_ns;
    slow.data_ns = call.last_op_ns - call.first_op_ns;
    slow.after_data_ns = answer->time_ns - call.last_op_ns;
  }
  p.slowest.offer(slow);
  report_.slowest.offer(slow);
}

void Analysis::on_refusal(const roce::Acknowledgement& event) {
  TrafficBin& bin = report_.traffic.at(event.meta.time_ns);
  ++(event.aeth.is_rnr() ? bin.rnrs : bin.naks);
}

void Analysis::on_congestion(const roce::CongestionSignal& event) {
  TrafficBin& bin = report_.traffic.at(event.meta.time_ns);
  ++(event.cnp ? bin.cnps : bin.ce);
}

void Analysis::on_pause(const model::PauseSeen& event) {
  if (event.pause.paused != 0) ++report_.traffic.at(event.time_ns).pauses;
}

void Analysis::on_retransmission(const roce::Retransmission& event) {
  report_.traffic.at(event.meta.time_ns).retransmitted += event.count;
}

void Analysis::on_operation_end(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  if (event.call == nullptr || selection_) return;
  TrafficBin& bin = report_.traffic.at(op.last_ns);
  (op.kind == roce::OpKind::kRead ? bin.read_bytes : bin.write_bytes) += op.bytes;
}

Report Analysis::snapshot(const capture::SourceStats& source, std::uint64_t files) const {
  Report r = report_;
  r.latencies = latencies_->latencies();
  const rules::Findings& found = selection_ ? selection_->findings() : session_.findings();
  for (rules::Finding& x : found.list_so_far()) r.findings.push_back({std::move(x)});
  for (rules::Inconclusive& x : session_.findings().inconclusive_so_far()) {
    r.inconclusive.push_back({std::move(x)});
  }
  complete(r, source, files);
  return r;
}

void Analysis::finish(const capture::SourceStats& source, std::uint64_t files) {
  session_.finish_rules();
  if (selection_) selection_->finish();
  report_.latencies = latencies_->finish();
  rules::Findings& found = selection_ ? selection_->findings() : session_.findings();
  for (rules::Finding& x : found.take_list()) report_.findings.push_back({std::move(x)});
  for (const rules::Inconclusive& x : session_.findings().inconclusive()) {
    report_.inconclusive.push_back({x});
  }
  complete(report_, source, files);
}

void Analysis::complete(Report& r, const capture::SourceStats& source, std::uint64_t files) const {
  add_capture(r, source, files);
  r.recording = events_->recording();
  r.recording.events = session_.pipeline().events();
  add_types(r.messages);
  add_connections(r);
  r.files.complete_names();
  settle_credits(r);
  settle_edges(r.edges);
  add_reconnects(r.reconnects);
  r.mounts = mounts_.mounts(r.capture.last_ns);
  add_timing(r.timing);
  name_slow_calls(r);
  r.findings_omitted = (selection_ ? selection_->findings() : session_.findings()).omitted();
  if (selection_) {
    for (std::size_t i = 0; i < r.findings_omitted.size(); ++i) {
      r.findings_omitted[i] += selection_->omitted()[i];
    }
  }
  conclude(r);
}

void Analysis::add_capture(Report& r, const capture::SourceStats& source,
                           std::uint64_t files) const {
  const session::Pipeline& pipeline = session_.pipeline();
  const session::FrameCounts& f = pipeline.frames();
  CaptureSummary& c = r.capture;
  c.files = files;
  c.frames = f.total;
  c.events = f.events;
  c.cut_short = f.cut_short;
  c.snaplen = f.snaplen;
  c.fragments = f.fragments;
  c.unknown_link = f.unknown_link;
  c.unread = f.unread.by_name();
  c.nfs_tcp = f.nfs_tcp;
  c.pauses = f.pauses.by_source();
  c.first_ns = f.first_ns;
  c.last_ns = f.last_ns;
  c.clock_steps_back = f.clock_steps_back;
  c.dropped = pipeline.dropped(source);
  c.file_cut_short = source.cut_short;
  c.damage = plot::escape_terminal(source.damage);  // contains file names
  c.note = plot::escape_terminal(source.note);
  c.packets = pipeline.connections().stats();
}

void Analysis::add_types(MessageCounts& to) const {
  for (std::size_t i = 0; i < procs_.size(); ++i) {
    for (std::uint32_t proc = 0; proc < procs_[i].size(); ++proc) {
      const std::uint64_t n = procs_[i][proc];
      if (n == 0) continue;
      // Several values have the name "unknown".
      const char* const name = i == 0
                                   ? wire::proc_name(1, proc)
                                   : wire::later_type_name(static_cast<wire::Dialect>(i - 1), proc);
      to.types[name] += n;
    }
  }
}

void Analysis::name_slow_calls(Report& r) const {
  const auto name_connections = [&](SlowCalls& calls) {
    for (SlowCall& s : calls.list()) s.connection = context_.connection_id(s.connection);
  };
  name_connections(r.slowest);
  for (auto& [key, p] : r.procedures) name_connections(p.slowest);
}

void Analysis::add_connections(Report& r) const {
  const roce::Connections& all = *context_.connections;
  r.connection_ids = all.connection_count();
  r.connections.reserve(std::min<std::size_t>(all.connection_count(), roce::kMaxConnections));
  for (std::uint32_t i = 0; i < all.connection_count(); ++i) {
    const roce::Connection* c = all.find(i);
    if (c == nullptr || c->merged_away) continue;
    Connection& listed = r.connections.emplace_back(summarize(*c, context_.model->connection(i)));
    add_views(listed, i);
  }
  for (const auto& [index, count] : cut_short_) {
    const std::uint32_t id = context_.connection_id(index);
    const auto at =
        std::lower_bound(r.connections.begin(), r.connections.end(), id,
                         [](const Connection& c, std::uint32_t wanted) { return c.id < wanted; });
    if (at != r.connections.end() && at->id == id) at->cut_short += count;
  }
}

// In summarize(), the client became side 0.
void Analysis::add_views(Connection& c, std::uint32_t index) const {
  const session::Views& views = session_.pipeline().views();
  c.views = views.of(index);
  if (c.views.empty()) return;
  if (c.views.size() > kMaxViews) c.views.resize(kMaxViews);
  c.file = views.file_of(index);
  if (context_.model->connection(index).client != 1) return;
  for (session::View& v : c.views) v = session::swapped_view(std::move(v));
}

// As in summarize(), side 0 counts as the client while roles are unknown.
bool Analysis::reverse(End end) const {
  const std::uint32_t index = context_.model->canonical(end.connection);
  const int caller = index == end.connection ? end.caller : 1 - end.caller;
  return caller != std::max(context_.model->connection(index).client, 0);
}

void Analysis::settle_credits(Report& r) const {
  std::vector<std::uint32_t> free = free_credits_;
  std::sort(free.begin(), free.end(), std::greater<>());
  for (const std::uint32_t at : free) {
    r.credits.erase(r.credits.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (ConnectionCredits& c : r.credits) {
    if (reverse({c.connection, 0})) std::swap(c.direction[0], c.direction[1]);
    ++c.connection;  // its ID
  }
  r.credits_omitted = count_credits_omitted(r);
}

void Analysis::add_reconnects(Reconnects& r) const {
  rules::Handover all = session_.checker().handover();
  for (const auto& d : all.departed) {
    r.ended.push_back({{d->address[0].to_string(), d->address[1].to_string()}, *d});
  }
  for (const rules::LostCall& lost : all.lost) {
    r.lost.push_back({lost.caller.to_string(), lost.responder.to_string(), lost});
  }
  sort_lost(r.lost);
  for (rules::Begun& b : all.begun) {
    r.begun.push_back({context_.connection_id(b.connection),
                       {b.address[0].to_string(), b.address[1].to_string()},
                       b.first_ns,
                       b.departed_before,
                       b.more,
                       b.unsure == nullptr ? "" : b.unsure,
                       std::move(b.calls)});
  }
  r.complete = all.complete;
}

void Analysis::add_timing(Timing& timing) const {
  for (const rules::Silence& s : session_.checker().silences()) {
    timing.silences.push_back({context_.connection_id(s.connection),
                               reverse({s.connection, s.caller}), s.since_ns, s.until_ns, s.ended,
                               s.calls, s.frame});
  }
  if (limits_) limits_->add_to(timing, context_);
}

void Analysis::settle_edges(Edges& edges) const {
  for (std::size_t i = 0; i < open_ends_.size(); ++i) {
    OpenCall& open = edges.open_calls[i];
    open.connection = context_.connection_id(open_ends_[i].connection);
    open.reverse = reverse(open_ends_[i]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < early_ends_.size(); ++i) {
    // A connection that is not listed is never joined.
    if (context_.connections->find(early_ends_[i].connection) == nullptr) continue;
    EarlyReply& r = edges.early_replies[kept++];
    r = edges.early_replies[i];
    r.connection = context_.connection_id(early_ends_[i].connection);
    r.reverse = reverse(early_ends_[i]);
  }
  edges.omitted += edges.early_replies.size() - kept;
  edges.early_replies.resize(kept);
  // Calls end connection by connection, and a filter can decide late.
  const auto by_frame = [](const auto& a, const auto& b) { return a.frame < b.frame; };
  std::stable_sort(edges.open_calls.begin(), edges.open_calls.end(), by_frame);
  std::stable_sort(edges.early_replies.begin(), edges.early_replies.end(), by_frame);
}

}  // namespace rpcrdma::report
