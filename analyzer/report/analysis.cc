#include "summary.h"

#include <algorithm>
#include <functional>

#include <rpcrdma/report/analysis.h>

namespace rpcrdma::report {

namespace {

bool rpc_failed(const model::Message& m) {
  return m.rpc.header_seen && (m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                               m.rpc.accept_stat != wire::AcceptStat::kSuccess);
}

bool failed(const model::Message& m) {
  return m.kind == model::Kind::kError || (m.kind == model::Kind::kReply && rpc_failed(m));
}

}  // namespace

Analysis::Analysis(rules::Profile profile)
    : findings_({.profile = profile, .tell_sums = false}), checker_(findings_) {
  report_.profile = profile;
}

void Analysis::on_message(const model::Message& m, const model::Call* call) {
  checker_.on_message(m, call);
  ++report_.messages.kinds[static_cast<std::size_t>(m.kind)];
  ++procs_[m.version == 2 ? 1 : 0][std::min(m.proc, 6U)];
  TrafficBin& bin = report_.traffic.at(m.time_ns);
  bin.inline_bytes += m.wire_length;
  switch (m.kind) {
    case model::Kind::kCall:
      ++bin.calls;
      bin.outstanding_max = std::max(bin.outstanding_max, ++outstanding_);
      note_credits(m);
      break;
    case model::Kind::kReply:
      ++bin.replies;
      note_credits(m);
      break;
    default:
      break;
  }
  if (failed(m)) ++bin.errors;
  if (call == nullptr && (m.kind == model::Kind::kReply || m.kind == model::Kind::kError)) {
    note_early(m);
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
    bin.request(m.credit, m.credits.in_use);
  } else {
    bin.grant(m.credit);
  }
}

// Null: there are enough of them.
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

void Analysis::on_merge(const roce::Connection& into, const roce::Connection& from) {
  checker_.on_merge(into, from);
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

// What is listed of it later is listed under its own name; the rest goes into the sums now.
void Analysis::on_let_go(const roce::Connection& connection) {
  checker_.on_let_go(connection);
  give_up_credits(connection.index);
  if (connection.merged_away) return;
  report_.unlisted.add(summarize(connection, context_.model->connection(connection.index)));
}

// The Call of a Reply without one may have been seen before the capture began, unless the
// connection began later.
void Analysis::note_early(const model::Message& m) {
  if (context_.tracker->connection(m.connection).setup == roce::Setup::kCm) return;
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
  early_ends_.push_back({m.connection, m.caller});
}

void Analysis::note_open(const model::Call& call, const ProcedureKey& key) {
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
  open_ends_.push_back({call.message.connection, call.message.caller});
}

// `key` may become that of all others.
Procedure& Analysis::procedure(ProcedureKey& key, const model::RpcInfo& rpc) {
  RecentProcedure& recent = recent_procedures_[(key.procedure ^ key.operation) % kRecentProcedures];
  if (recent.procedure != nullptr && recent.key == key) return *recent.procedure;
  const ProcedureKey wanted = key;
  Procedure& p = procedure_of(report_.procedures, key, [&] { return procedure_label(rpc); });
  if (key == wanted) recent = {key, &p};
  return p;
}

void Analysis::on_call_end(const model::Call& call, const model::Message* answer) {
  checker_.on_call_end(call, answer);
  const model::Message& m = call.message;
  if (outstanding_ != 0) --outstanding_;
  const bool reverse = context_.model->reverse(m);
  ProcedureKey key{m.rpc.known ? m.rpc.program : UINT32_MAX, m.rpc.version, m.rpc.procedure,
                   principal_operation(m.rpc), reverse};
  Procedure& p = procedure(key, m.rpc);
  ++p.calls;
  for (const model::CallChunk& chunk : call.chunks) {
    p.bytes[static_cast<std::size_t>(chunk.list)] += chunk.moved;
  }
  if (answer == nullptr) {
    ++p.unmatched;
    // The capture ended, and the connection did not.
    const roce::Connection& c = context_.connection(m);
    if (call.ending == model::Ending::kClosed && c.state < roce::State::kRejected && !c.let_go) {
      note_open(call, key);
    }
    return;
  }
  if (failed(*answer)) ++p.errors;
  ++p.replies;
  const std::int64_t latency = answer->time_ns - m.time_ns;
  p.total.add(latency);
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

void Analysis::on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                          std::uint32_t psn, const roce::PacketMeta& meta) {
  checker_.on_refusal(connection, sender, aeth, psn, meta);
  TrafficBin& bin = report_.traffic.at(meta.time_ns);
  ++(aeth.is_rnr() ? bin.rnrs : bin.naks);
}

void Analysis::on_retransmission(const roce::Connection& connection, int sender,
                                 std::uint64_t count, const roce::PacketMeta& meta) {
  checker_.on_retransmission(connection, sender, count, meta);
  report_.traffic.at(meta.time_ns).retransmitted += count;
}

void Analysis::on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                                const model::Call* call, std::uint32_t segment) {
  checker_.on_operation_end(connection, op, call, segment);
  if (call == nullptr) return;
  TrafficBin& bin = report_.traffic.at(op.last_ns);
  (op.kind == roce::OpKind::kRead ? bin.read_bytes : bin.write_bytes) += op.bytes;
}

void Analysis::finish(const Pipeline& pipeline, const capture::SourceStats& source,
                      std::uint64_t files) {
  checker_.finish();
  const FrameCounts& f = pipeline.frames();
  CaptureSummary& c = report_.capture;
  c.files = files;
  c.frames = f.total;
  c.cut_short = f.cut_short;
  c.fragments = f.fragments;
  c.first_ns = f.first_ns;
  c.last_ns = f.last_ns;
  c.clock_steps_back = f.clock_steps_back;
  c.dropped = source.dropped;
  c.file_cut_short = source.cut_short;
  c.damage = source.damage;
  c.packets = pipeline.tracker().stats();
  for (std::uint32_t version = 1; version <= 2; ++version) {
    for (std::uint32_t proc = 0; proc < procs_[0].size(); ++proc) {
      const std::uint64_t n = procs_[version - 1][proc];
      // Several are "unknown".
      if (n != 0) report_.messages.types[wire::proc_name(version, proc)] += n;
    }
  }
  finish_connections(pipeline);
  finish_credits();
  finish_edges();
  const auto name_connections = [&](SlowCalls& calls) {
    for (SlowCall& s : calls.list()) s.connection = context_.connection_id(s.connection);
  };
  name_connections(report_.slowest);
  for (auto& [key, p] : report_.procedures) name_connections(p.slowest);
  for (rules::Finding& x : findings_.take_list()) report_.findings.push_back({std::move(x)});
  for (const rules::Withheld& x : findings_.withheld()) report_.withheld.push_back({x});
  report_.findings_omitted = findings_.omitted();
  conclude(report_);
}

void Analysis::finish_connections(const Pipeline& pipeline) {
  const roce::Tracker& tracker = pipeline.tracker();
  report_.connection_ids = tracker.connection_count();
  for (std::uint32_t i = 0; i < tracker.connection_count(); ++i) {
    const roce::Connection* c = tracker.find(i);
    if (c == nullptr || c->merged_away) continue;
    report_.connections.push_back(summarize(*c, pipeline.model().connection(i)));
  }
}

// As summarize() has it: with roles unknown the side that was seen first counts as the client.
bool Analysis::reverse(End end) const {
  const std::uint32_t index = context_.model->canonical(end.connection);
  const int caller = index == end.connection ? end.caller : 1 - end.caller;
  return caller != std::max(context_.model->connection(index).client, 0);
}

void Analysis::finish_credits() {
  std::sort(free_credits_.begin(), free_credits_.end(), std::greater<>());
  for (const std::uint32_t at : free_credits_) {
    report_.credits.erase(report_.credits.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (ConnectionCredits& c : report_.credits) {
    if (reverse({c.connection, 0})) std::swap(c.direction[0], c.direction[1]);
    ++c.connection;  // its ID
  }
  report_.credits_omitted = count_credits_omitted(report_);
}

void Analysis::finish_edges() {
  Edges& edges = report_.edges;
  for (std::size_t i = 0; i < open_ends_.size(); ++i) {
    OpenCall& open = edges.open_calls[i];
    open.connection = context_.connection_id(open_ends_[i].connection);
    open.reverse = reverse(open_ends_[i]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < early_ends_.size(); ++i) {
    // What is not listed joins nothing.
    if (context_.tracker->find(early_ends_[i].connection) == nullptr) continue;
    EarlyReply& r = edges.early_replies[kept++];
    r = edges.early_replies[i];
    r.connection = context_.connection_id(early_ends_[i].connection);
    r.reverse = reverse(early_ends_[i]);
  }
  edges.omitted += edges.early_replies.size() - kept;
  edges.early_replies.resize(kept);
  // Calls end connection by connection.
  std::stable_sort(edges.open_calls.begin(), edges.open_calls.end(),
                   [](const OpenCall& a, const OpenCall& b) { return a.frame < b.frame; });
}

}  // namespace rpcrdma::report
