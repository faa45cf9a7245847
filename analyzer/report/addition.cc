// Adds a later report to an earlier one. Sums do not depend on the order. Frames and connections of
// the later report are renumbered to follow those of the earlier one. Calls in flight at the end of
// one capture are matched with Replies at the start of the next: see Edges.
#include "addition.h"

#include "connection_join.h"
#include "latency_join.h"
#include "merge_eviction.h"
#include "reconnects_join.h"
#include "sessions_join.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rpcrdma::report {

namespace {

void add(roce::PacketStats& to, const roce::PacketStats& from) {
  to.roce += from.roce;
  to.icrc_good += from.icrc_good;
  to.icrc_bad += from.icrc_bad;
  to.icrc_accepted += from.icrc_accepted;
  to.icrc_off += from.icrc_off;
  to.icrc_unchecked += from.icrc_unchecked;
  to.coalesced += from.coalesced;
  to.iwarp += from.iwarp;
  to.crc_good += from.crc_good;
  to.crc_bad += from.crc_bad;
  to.crc_unchecked += from.crc_unchecked;
  to.malformed += from.malformed;
  to.headers_cut += from.headers_cut;
  to.cm_cut += from.cm_cut;
  to.cm += from.cm;
  to.other_service += from.other_service;
  to.ce += from.ce;
  to.cnp += from.cnp;
  to.retransmitted += from.retransmitted;
  to.captured_twice += from.captured_twice;
  to.reordered += from.reordered;
  to.lost_network += from.lost_network;
  to.lost_capture += from.lost_capture;
  to.nak += from.nak;
  to.rnr += from.rnr;
}

// A capture without frames has no times.
void add_times(CaptureSummary& to, const CaptureSummary& from) {
  if (from.frames == 0) return;
  to.first_ns = to.frames == 0 ? from.first_ns : std::min(to.first_ns, from.first_ns);
  to.last_ns = to.frames == 0 ? from.last_ns : std::max(to.last_ns, from.last_ns);
}

void add(CaptureSummary& to, const CaptureSummary& from) {
  add_times(to, from);
  to.files += from.files;
  to.frames += from.frames;
  to.events += from.events;
  to.cut_short += from.cut_short;
  to.snaplen = std::max(to.snaplen, from.snaplen);
  to.fragments += from.fragments;
  to.unknown_link += from.unknown_link;
  to.nfs_tcp += from.nfs_tcp;
  for (const auto& [source, counts] : from.pauses) {
    const bool room = to.pauses.size() < capture::PauseFrames::kMostSources;
    to.pauses[room || to.pauses.contains(source) ? source : "others"].add(counts);
  }
  for (const auto& [name, frames] : from.unread) to.unread[name] += frames;
  to.clock_steps_back += from.clock_steps_back;
  to.dropped += from.dropped;
  to.file_cut_short |= from.file_cut_short;
  if (!to.damage.empty() && !from.damage.empty()) to.damage += "; ";
  to.damage += from.damage;
  if (!to.note.empty() && !from.note.empty()) to.note += "; ";
  to.note += from.note;
  add(to.packets, from.packets);
}

void add(MessageCounts& to, const MessageCounts& from) {
  for (std::size_t i = 0; i < to.kinds.size(); ++i) to.kinds[i] += from.kinds[i];
  for (const auto& [name, count] : from.types) to.types[name] += count;
}

void add(Procedure& to, const Procedure& from) {
  to.calls += from.calls;
  to.replies += from.replies;
  to.errors += from.errors;
  to.unmatched += from.unmatched;
  for (std::size_t i = 0; i < to.bytes.size(); ++i) to.bytes[i] += from.bytes[i];
  to.total.merge(from.total);
  to.before_data.merge(from.before_data);
  to.data.merge(from.data);
  to.after_data.merge(from.after_data);
  to.in_responder.merge(from.in_responder);
  to.slowest.merge(from.slowest);
}

// Adds `from`, a later report, to `to`.
class Addition {
 public:
  Addition(Report& to, Report& from)
      : to_(to),
        from_(from),
        frames_(to.capture.frames),
        earlier_end_ns_(to.capture.last_ns),
        first_ns_(first_times(from)),
        join_(to, from, frames_) {}

  [[nodiscard]] bool fits() const { return join_.ids() <= UINT32_MAX; }

  void run() {
    number(from_.slowest);
    for (auto& [key, p] : from_.procedures) number(p.slowest);
    sent_again_ = join_reconnects(to_, from_, join_, frames_);
    flip_earlier();
    to_.connection_ids = static_cast<std::uint32_t>(join_.ids());
    add(to_.capture, from_.capture);
    add(to_.messages, from_.messages);
    to_.not_listed.add(from_.not_listed);
    for (RecordedProcedure& p : from_.recording.procedures) p.connection = join_.id(p.connection);
    for (RecordedConnection& c : from_.recording.connections) c.connection = join_.id(c.connection);
    to_.recording.add(from_.recording, frames_);
    join_sessions(to_, from_, join_, frames_);
    procedures();
    to_.slowest.merge(from_.slowest);
    to_.files.add(from_.files);
    latencies();
    to_.traffic.merge(from_.traffic);
    credits();
    edges();
    timing();
    findings();
    inconclusive();
    evict_connections(to_);
  }

 private:
  static std::map<std::uint32_t, std::int64_t> first_times(const Report& r) {
    std::map<std::uint32_t, std::int64_t> times;
    for (const Connection& c : r.connections) times.emplace(c.id, c.first_ns);
    return times;
  }

  // Index of Calls in flight, by the fields that a Reply has.
  using Open = std::map<std::tuple<std::uint32_t, bool, std::uint32_t>, std::size_t>;

  void number(SlowCalls& calls) const {
    for (SlowCall& s : calls.list()) {
      s.frame += frames_;
      s.reply_frame += frames_;
      s.connection = join_.id(s.connection);
    }
  }

  void flip_earlier() {
    for (ConnectionCredits& c : to_.credits) {
      if (join_.flipped_earlier(c.connection)) std::swap(c.direction[0], c.direction[1]);
    }
    for (ConnectionLatency& c : to_.latencies.connections) {
      if (join_.flipped_earlier(c.connection)) std::swap(c.direction[0], c.direction[1]);
    }
    for (OpenCall& c : to_.edges.open_calls) {
      c.reverse = c.reverse != join_.flipped_earlier(c.connection);
    }
    for (EarlyReply& r : to_.edges.early_replies) {
      r.reverse = r.reverse != join_.flipped_earlier(r.connection);
    }
  }

  void procedures() {
    for (auto& [key, p] : from_.procedures) {
      ProcedureKey under = key;
      add(procedure_of(to_.procedures, under, [&stats = p] { return stats.label; }), p);
    }
  }

  void latencies() {
    for (ConnectionLatency& c : from_.latencies.connections) {
      if (join_.flipped_later(c.connection)) std::swap(c.direction[0], c.direction[1]);
      c.connection = join_.id(c.connection);
    }
    join_latencies(to_, from_.latencies);
  }

  void credits() {
    std::map<std::uint32_t, std::size_t> slots;
    for (std::size_t i = 0; i < to_.credits.size(); ++i) slots[to_.credits[i].connection] = i;
    for (ConnectionCredits& c : from_.credits) {
      if (join_.flipped_later(c.connection)) std::swap(c.direction[0], c.direction[1]);
      const std::uint32_t id = join_.id(c.connection);
      auto slot = slots.find(id);
      if (slot == slots.end()) {
        if (to_.credits.size() >= kMaxCreditSeries) continue;
        slot = slots.emplace(id, to_.credits.size()).first;
        to_.credits.emplace_back().connection = id;
      }
      for (std::size_t d = 0; d < 2; ++d) {
        to_.credits[slot->second].direction[d].merge(c.direction[d]);
      }
    }
    to_.credits_omitted = count_credits_omitted(to_);
  }

  Connection& connection(std::uint32_t id) const {
    return *std::lower_bound(
        to_.connections.begin(), to_.connections.end(), id,
        [](const Connection& c, std::uint32_t wanted) { return c.id < wanted; });
  }

  void answer(const OpenCall& call, const EarlyReply& reply) {
    Direction& d = connection(call.connection).direction[call.reverse ? 1 : 0];
    if (d.unmatched_calls != 0) --d.unmatched_calls;
    if (d.unmatched_replies != 0) --d.unmatched_replies;
    ++(reply.rdma_error ? d.errors : d.replies);
    if (!call.counted) return;
    auto at = to_.procedures.find(call.procedure);
    if (at == to_.procedures.end()) {
      at = to_.procedures.find(ProcedureKey::others(call.procedure.reverse));
    }
    if (at == to_.procedures.end()) return;
    Procedure& p = at->second;
    if (p.unmatched != 0) --p.unmatched;
    ++p.replies;
    if (reply.failed) ++p.errors;
    const std::int64_t latency = reply.time_ns - call.time_ns;
    p.total.add(latency);
    answer_latency(to_, call, at->first, reply.time_ns);
    to_.traffic.at(reply.time_ns).add_latency(latency);
    SlowCall slow;
    slow.latency_ns = latency;
    slow.frame = call.frame;
    slow.reply_frame = reply.frame;
    slow.time_ns = call.time_ns;
    slow.xid = call.xid;
    slow.connection = call.connection;
    slow.reverse = call.procedure.reverse;
    slow.label = p.label;
    p.slowest.offer(slow);
    to_.slowest.offer(slow);
  }

  void edges() {
    Edges& edges = to_.edges;
    Open open;
    for (std::size_t i = 0; i < edges.open_calls.size(); ++i) {
      const OpenCall& c = edges.open_calls[i];
      open.emplace(std::tuple(c.connection, c.reverse, c.xid), i);
    }
    std::vector<bool> answered(edges.open_calls.size());
    for (EarlyReply& r : from_.edges.early_replies) {
      const bool joined = join_.joined(r.connection);
      r.reverse = r.reverse != join_.flipped_later(r.connection);
      r.connection = join_.id(r.connection);
      r.frame += frames_;
      const auto call = joined ? open.find(std::tuple(r.connection, r.reverse, r.xid)) : open.end();
      if (call != open.end()) {
        answer(edges.open_calls[call->second], r);
        answered[call->second] = true;
        open.erase(call);
      } else if (const Connection* c = to_.connection(r.connection); c != nullptr && !c->by_cm) {
        // Its Call may be in a report earlier than both.
        edges.early_replies.push_back(r);
      }
    }
    // An unanswered Call stays only while its connection is open: otherwise no answer can follow.
    std::vector<OpenCall> left;
    for (std::size_t i = 0; i < edges.open_calls.size(); ++i) {
      const OpenCall& c = edges.open_calls[i];
      const Connection* on = to_.connection(c.connection);
      if (!answered[i] && on != nullptr && on->state < roce::State::kRejected) left.push_back(c);
    }
    for (OpenCall& c : from_.edges.open_calls) {
      c.reverse = c.reverse != join_.flipped_later(c.connection);
      c.connection = join_.id(c.connection);
      c.frame += frames_;
      left.push_back(c);
    }
    edges.open_calls = std::move(left);
    edges.omitted += from_.edges.omitted;
    bound(edges.open_calls, edges.omitted);
    bound(edges.early_replies, edges.omitted);
  }

  void timing() {
    Timing& t = to_.timing;
    for (Silence& s : t.silences) s.reverse = s.reverse != join_.flipped_earlier(s.connection);
    for (Silence& s : from_.timing.silences) {
      s.reverse = s.reverse != join_.flipped_later(s.connection);
      s.connection = join_.id(s.connection);
      if (s.frame != 0) s.frame += frames_;
      t.silences.push_back(s);
    }
    for (LimitedCalls& c : from_.timing.limited) {
      c.connection = join_.id(c.connection);
      if (c.worst_frame != 0) c.worst_frame += frames_;
      for (std::uint64_t& frame : c.frames) frame += frames_;
      t.limited.push_back(std::move(c));
    }
    t.limits.insert(t.limits.end(), from_.timing.limits.begin(), from_.timing.limits.end());
    t.omitted += from_.timing.omitted;
    t.settle();
  }

  template <typename T>
  static void bound(std::vector<T>& list, std::uint64_t& omitted) {
    if (list.size() <= kMaxEdges) return;
    omitted += list.size() - kMaxEdges;
    list.resize(kMaxEdges);
  }

  // Ends the open spans of findings on connections that continue in the later report. A stall
  // lasted until the connection's first packet in the later capture. Other faults end with the
  // earlier capture, unless add_spans() continues them.
  void end_spans() {
    std::map<std::uint32_t, std::int64_t> continued;  // ID to the time of the first later packet
    for (const auto& [id, ns] : first_ns_) {
      if (join_.joined(id)) continued.emplace(join_.id(id), ns);
    }
    const std::string_view stall = rules::rule(rules::RuleId::kStall).name;
    for (Finding& f : to_.findings) {
      if (f.spans.empty() || f.spans.back().until_ns != 0) continue;
      const auto at = continued.find(f.connection);
      if (at == continued.end()) continue;
      f.spans.back().until_ns = f.rule == stall ? at->second : earlier_end_ns_;
    }
  }

  // Appends the spans of the later report. A span that starts with the later capture, or as soon as
  // it could be found there, continues the last span of the earlier one.
  void add_spans(Finding& to, const Finding& from) const {
    auto next = from.spans.begin();
    if (next != from.spans.end() && !to.spans.empty() &&
        to.spans.back().until_ns == earlier_end_ns_ &&
        next->since_ns - earlier_end_ns_ <= rules::kWindowNs) {
      to.spans.back().until_ns = next->until_ns;
      ++next;
      to.count -= to.count > 1 ? 1 : 0;
    }
    for (; next != from.spans.end() && to.spans.size() < rules::kMaxSpans; ++next) {
      to.spans.push_back(*next);
    }
  }

  // Joins findings with the same rule, severity, connection, peer and topic.
  void findings() {
    using Key = std::tuple<std::string, rules::Severity, std::uint32_t, std::string, std::uint32_t>;
    const auto key = [](const Finding& f) {
      return Key{f.rule, f.severity, f.connection, f.peer, f.topic};
    };
    std::map<Key, std::size_t> index;
    std::size_t kept = 0;
    end_spans();
    for (std::size_t i = 0; i < to_.findings.size(); ++i) {
      if (to_.findings[i].concluded) continue;
      index.emplace(key(to_.findings[i]), i);
      ++kept;
    }
    const auto add = [&](Finding& f) {
      const auto at = index.find(key(f));
      if (at != index.end()) {
        Finding& same = to_.findings[at->second];
        same.count += f.count;
        same.of += f.of;
        if (same.of != 0) {
          same.text = rules::with_share(same.count, same.of, rules::without_share(same.text));
        }
        const std::size_t room =
            rules::kMaxFrames - std::min(rules::kMaxFrames, same.frames.size());
        const auto taken = static_cast<std::ptrdiff_t>(std::min(room, f.frames.size()));
        same.frames.insert(same.frames.end(), f.frames.begin(), f.frames.begin() + taken);
        add_spans(same, f);
      } else if (kept < kMaxFindings) {
        ++kept;
        index.emplace(key(f), to_.findings.size());
        to_.findings.push_back(std::move(f));
      } else {
        ++to_.findings_omitted[static_cast<std::size_t>(f.severity)];
      }
    };
    for (Finding& f : from_.findings) {
      if (f.concluded) continue;
      for (std::uint64_t& frame : f.frames) frame += frames_;
      if (f.connection != 0) f.connection = join_.id(f.connection);
      add(f);
    }
    for (Finding& f : sent_again_.findings) add(f);
    for (std::size_t i = 0; i < to_.findings_omitted.size(); ++i) {
      to_.findings_omitted[i] += from_.findings_omitted[i];
    }
  }

  void inconclusive() {
    using Key = std::tuple<std::string, std::uint32_t, std::string>;
    std::map<Key, std::size_t> index;
    for (std::size_t i = 0; i < to_.inconclusive.size(); ++i) {
      const Inconclusive& w = to_.inconclusive[i];
      if (!w.concluded) index.emplace(Key{w.rule, w.connection, w.reason}, i);
    }
    const auto add = [&](Inconclusive& w) {
      const auto at = index.find(Key{w.rule, w.connection, w.reason});
      if (at != index.end()) {
        to_.inconclusive[at->second].count += w.count;
      } else if (index.size() < kMaxInconclusive) {
        index.emplace(Key{w.rule, w.connection, w.reason}, to_.inconclusive.size());
        to_.inconclusive.push_back(std::move(w));
      }
    };
    for (Inconclusive& w : from_.inconclusive) {
      if (w.concluded) continue;
      w.connection = join_.id(w.connection);
      add(w);
    }
    for (Inconclusive& w : sent_again_.inconclusive) add(w);
  }

  Report& to_;
  Report& from_;
  std::uint64_t frames_;
  std::int64_t earlier_end_ns_;
  // First times of connections, by their ID in the later report.
  std::map<std::uint32_t, std::int64_t> first_ns_;
  ConnectionJoin join_;
  SentAgainFindings sent_again_;
};

}  // namespace

bool add_later(Report& to, Report& later) {
  Addition addition(to, later);
  if (!addition.fits()) return false;
  addition.run();
  return true;
}

}  // namespace rpcrdma::report
