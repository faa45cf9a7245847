// Feeds events to the state of each connection, and adds its findings when the connection closes.
#include "diagnoses.h"

#include "checks/checks.h"
#include "chunk_use.h"
#include "congestion.h"
#include "credit_starvation.h"
#include "durations.h"
#include "gss_cost.h"
#include "history.h"
#include "implementation_quirks.h"
#include "latency_attribution.h"
#include "loss.h"
#include "reconnects.h"
#include "registrations.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/rules/rejection.h>

namespace rpcrdma::rules {

namespace {

bool is_iwarp(const roce::Connection& c) {
  return c.transport == roce::Transport::kIwarp;
}

// Whoever ended the connection.
const char* closer_name(const roce::Connection& c) {
  return is_iwarp(c) ? "the side that closed it" : "the sender of the DREQ";
}

// An endpoint that records a connection speaks RPC-over-RDMA, at whatever port.
bool is_rpc(const roce::Connection& c) {
  return c.recorded || asks_for_nfs(c);
}

// A REQ for NFS that goes to the port of NFS over TCP.
bool meant_for_nfs(const roce::Connection& c) {
  constexpr std::uint16_t kNfsPort = 2049;
  return wire::is_rdma_ip_service(c.service_id) && wire::service_port(c.service_id) == kNfsPort;
}

void report_refused(Findings& findings, const roce::Connection& c) {
  Evidence e;
  e.connection = &c;
  e.side = c.closed_by;
  e.frames = {c.closed_frame, 0};
  findings.add(
      RuleId::kConnLost, e,
      [&] {
        const std::string data = rejection_data(c.reject_data);
        const std::string with = data.empty() ? "" : fmt::format(", private data {}", data);
        if (is_iwarp(c)) return fmt::format("an MPA Reply refused the connection{}", with);
        const std::string meaning = rejection_meaning(c.reject_reason, c.service_id);
        return fmt::format("a REJ refused the connection: {} (reason {}{}{}){}{}{}",
                           wire::cm_rej_reason(c.reject_reason), c.reject_reason,
                           meaning.empty() ? "" : ": ", meaning, with,
                           c.failure.empty() ? "" : "; the endpoint reports: ", c.failure);
      },
      rejection_advice(c));
}

void report_failed(Findings& findings, const roce::Connection& c) {
  Evidence e;
  e.connection = &c;
  // The side that detects the failure ends the connection; the other side caused it.
  e.side = c.closed_by < 0 ? -1 : 1 - c.closed_by;
  e.frames = {c.closed_frame, 0};
  findings.add(RuleId::kConnLost, e, [&] {
    if (is_iwarp(c)) return fmt::format("a Terminate ended the connection: {}", c.failure);
    return fmt::format("the endpoint reports that the connection failed: {}", c.failure);
  });
}

// Returns the violation for which the side that ended the connection may have done so; null: none.
// A side that had left the other's Calls unanswered for long did not end it for that violation.
const Violation* cause_of_end(const roce::Connection& c, const ConnectionHistory& history) {
  if (c.closed_by < 0) return nullptr;
  const auto other = static_cast<std::size_t>(1 - c.closed_by);
  const bool at_once = history.waited[other] == Wait::kShort;
  return at_once && history.gave_cause(other) ? &history.latest_cause[other].violation : nullptr;
}

std::string given_cause(const roce::Connection& c, const Violation& cause, bool proven) {
  const char* const was = proven ? "had" : "may have had";
  if (cause.rule == nullptr) return fmt::format("; {} {} cause", closer_name(c), was);
  const auto& [first, last] = cause.evidence.frames;
  return fmt::format("; {} {} cause by a violation of {} in frame {}", closer_name(c), was,
                     cause.rule->name, last != 0 ? last : first);
}

}  // namespace

bool asks_for_nfs(const roce::Connection& c) {
  constexpr std::uint16_t kNfsRdmaPort = 20049;
  return wire::is_rdma_ip_service(c.service_id) && wire::service_port(c.service_id) == kNfsRdmaPort;
}

struct Diagnoses::OfConnection {
  std::array<CreditStarvation, 2> credit_starvation;  // by caller
  std::array<Recovery, 2> recovery;                   // by sender of the requests
  std::array<Stalls, 2> stalls{Stalls(0), Stalls(1)};
  ChunkUse chunks;
  GssCost gss;
  Registrations registrations;
  LatencyAttribution latency;
  Congestion congestion;
  ImplementationQuirks implementation_quirks;
  Lately lately;
  Succession succession;
  bool closing = false;          // its Calls are being ended
  bool begun = false;            // its first Calls are being noted
  std::uint64_t cut_short = 0;   // truncated messages
  std::uint64_t cut_off = 0;     // Calls that the close left unanswered
  bool cut_off_client = false;   // some of them are the client's
  bool cut_off_reverse = false;  // some of them are the server's
  std::uint64_t cut_off_frame = 0;
  std::uint32_t cut_off_xid = 0;  // of the first of them
  std::int64_t cut_off_ns = 0;
};

Diagnoses::Diagnoses(Findings& findings, const roce::Connections& connections,
                     const model::Model& model)
    : findings_(findings), all_(connections), model_(model) {}
Diagnoses::~Diagnoses() = default;

Diagnoses::OfConnection& Diagnoses::at(std::uint32_t index) {
  if (index == latest_index_) return *latest_;
  auto it = connections_.find(index);
  if (it == connections_.end()) {
    it = connections_.emplace(index, std::make_unique<OfConnection>()).first;
    it->second->latency.watch_pauses(paused_);
  }
  latest_index_ = index;
  latest_ = it->second.get();
  return *latest_;
}

void Diagnoses::judge_stalls(OfConnection& c, const roce::Connection& connection,
                             std::int64_t now_ns, Stalls::State state) {
  for (std::size_t caller = 0; caller < 2; ++caller) {
    if (!c.stalls[caller].due(now_ns)) continue;
    c.stalls[caller].report(findings_, connection, model_.oldest_call(connection.index, caller),
                            now_ns, state);
  }
}

// Called when the responder moves data.
void Diagnoses::end_silence(OfConnection& c, const roce::Connection& connection, std::size_t caller,
                            std::int64_t now_ns) {
  Stalls& stalls = c.stalls[caller];
  if (stalls.due(now_ns)) {
    stalls.report(findings_, connection, model_.oldest_call(connection.index, caller), now_ns,
                  Stalls::State::kOver);
  }
  stalls.moved(now_ns, connection);
}

Lately::Knowledge Diagnoses::knowledge(const OfConnection& c, const roce::Connection& connection,
                                       const ConnectionHistory* history) {
  static const SideHistory kNothing;
  return {findings_,
          connection,
          model_.connection(connection.index).client,
          c.recovery,
          c.credit_starvation,
          c.latency,
          {history == nullptr ? &kNothing : &history->side[0],
           history == nullptr ? &kNothing : &history->side[1]}};
}

void Diagnoses::time(std::int64_t now_ns, History& histories) {
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    OfConnection& c = *it->second;
    const roce::Connection& connection = all_.connection(it->first);
    if (model_.connection(it->first).speaks != model::Speaks::kRpc) continue;
    const std::int64_t seen_ns = roce::seen_until(connection, now_ns);
    for (std::size_t caller = 0; caller < 2; ++caller) {
      if (c.stalls[caller].moves(connection)) end_silence(c, connection, caller, seen_ns);
    }
    judge_stalls(c, connection, seen_ns, Stalls::State::kLasts);
    c.lately.judge(knowledge(c, connection, histories.find(it->first)), seen_ns);
  }
}

// At the end of a connection, reports sums of the faults that were reported while they lasted, and
// faults that only its whole life shows. Returns for how long retransmissions held it up.
std::int64_t Diagnoses::report_faults(OfConnection& c, const roce::Connection& connection,
                                      const ConnectionHistory* history) {
  using Fault = Lately::Fault;
  const Lately::Knowledge k = knowledge(c, connection, history);
  const bool lasts = ends_with_capture(connection);
  const std::int64_t end_ns = roce::seen_until(connection, connection.ended_ns);
  const auto note = [&](Fault fault, bool whole_life) {
    if (!whole_life) c.lately.end(k, fault, end_ns, lasts);
  };
  std::int64_t stalled = 0;
  for (std::size_t s = 0; s < 2; ++s) {
    const int side = static_cast<int>(s);
    const Recovery& recovery = c.recovery[s];
    const auto reported = [&](Fault first) {
      return c.lately.reported(Lately::of_side(first, s), lasts);
    };
    note(Lately::of_side(Fault::kStarved, s),
         c.credit_starvation[s].report(findings_, connection, side, reported(Fault::kStarved)));
    note(Lately::of_side(Fault::kStorm, s),
         recovery.report_storm(findings_, connection, side, reported(Fault::kStorm)));
    note(Lately::of_side(Fault::kExcusedRnr, s),
         recovery.report_excused_rnr(findings_, connection, side, *k.history[s],
                                     reported(Fault::kExcusedRnr)));
    note(Lately::of_side(Fault::kRnr, s),
         recovery.report_rnr(findings_, connection, side, *k.history[s], reported(Fault::kRnr)));
    stalled += recovery.held_up_ns();
  }
  return stalled;
}

void Diagnoses::report_latency(OfConnection& c, const roce::Connection& connection,
                               const ConnectionHistory* history, std::int64_t stalled) {
  using Fault = Lately::Fault;
  const int client = model_.connection(connection.index).client;
  const Lately::Knowledge k = knowledge(c, connection, history);
  const bool lasts = ends_with_capture(connection);
  const std::int64_t end_ns = roce::seen_until(connection, connection.ended_ns);
  const LatencySums all = c.latency.sums(end_ns, stalled);
  const LatencyAttribution::Slow slow = LatencyAttribution::judge(all);
  constexpr std::array kSlow{std::pair(Fault::kSlowStalls, LatencyAttribution::Slow::kStalls),
                             std::pair(Fault::kSlowWay, LatencyAttribution::Slow::kLongWay),
                             std::pair(Fault::kSlowPeer, LatencyAttribution::Slow::kPeer)};
  if (slow != LatencyAttribution::Slow::kStalls)
    c.latency.report_unknown_stalls(findings_, connection);
  for (const auto& [fault, kind] : kSlow) {
    Evidence e;
    if (slow != kind) {
      c.lately.end(k, fault, end_ns, lasts);
    } else if (conclude(e, c.lately.reported(fault, lasts))) {
      c.latency.report(findings_, connection, client, slow, all, e);
    }
  }
}

void Diagnoses::worked(const roce::Connection& connection, const roce::Operation& op, bool ends) {
  OfConnection& c = at(connection.index);
  const std::size_t caller = 1U - op.initiator;
  const std::int64_t time_ns = ends ? op.last_ns : op.first_ns;
  if (c.stalls[caller].newer(time_ns) && c.stalls[caller].due(time_ns)) {
    c.stalls[caller].report(findings_, connection, model_.oldest_call(connection.index, caller),
                            time_ns, Stalls::State::kOver);
  }
  c.stalls[caller].worked(op, ends, time_ns, connection);
}

bool Diagnoses::message(const model::Message& m, const model::Call* call,
                        const roce::Connection& on, const model::ConnectionModel& as) {
  OfConnection& c = at(m.connection);
  c.cut_short += model::cut_short(m, on) ? 1 : 0;
  const std::size_t waiting = 1U - m.sender;  // the side that may wait for the sender
  if (c.stalls[waiting].due(m.time_ns)) {
    c.stalls[waiting].report(findings_, on, model_.oldest_call(m.connection, waiting), m.time_ns,
                             Stalls::State::kOver);
  }
  if (c.stalls[waiting].stood_still()) c.stalls[waiting].report_standstill(findings_, on);
  for (Stalls& stalls : c.stalls) stalls.note(m, on);
  c.credit_starvation[m.caller].note(m);
  if (m.psn_known) c.recovery[m.sender].went_on(m.first_psn);
  c.recovery[1U - m.sender].peer_went_on(m.first_frame);
  const int client = as.client;
  if (c.begun && m.kind == model::Kind::kCall && call != nullptr && m.caller != client) {
    c.begun = first_calls_.called(m.connection, first_call(*call, false));
  }
  if (m.caller != client) return false;
  c.latency.note(m);
  if (m.kind != model::Kind::kCall) return false;
  c.registrations.note(m);
  c.implementation_quirks.call(m);
  if (call == nullptr) return false;
  const bool begins = c.succession.begins();
  if (!begins && !c.begun && !c.succession.looks()) return false;
  const FirstCall first = first_call(*call, true);
  const bool again = c.succession.called(first, on, client, departed_);
  if (begins && !c.succession.looks()) {
    first_calls_.begin(on, static_cast<std::size_t>(client), departed_ever_);
    c.begun = true;
  }
  if (c.begun) c.begun = first_calls_.called(m.connection, first);
  return again;
}

void Diagnoses::call_end(const model::Call& call, const model::Message* answer, bool one_way,
                         const roce::Connection& on, const model::ConnectionModel& as) {
  const model::Message& m = call.message;
  OfConnection& c = at(m.connection);
  if (answer != nullptr && m.psn_known) c.recovery[m.sender].arrived(m.psn);
  if (call.ending == model::Ending::kClosed && !one_way) {
    if (!c.closing) {
      judge_stalls(c, on, roce::seen_until(on, on.ended_ns),
                   ends_with_capture(on) ? Stalls::State::kCaptureEnds : Stalls::State::kOver);
    }
    c.closing = true;
    c.cut_off_client |= m.caller == as.client;
    c.cut_off_reverse |= m.caller != as.client;
    if (c.cut_off++ == 0) {
      c.cut_off_frame = m.frame;
      c.cut_off_xid = m.xid;
      c.cut_off_ns = m.time_ns;
    }
  }
  if (m.caller != as.client) return;
  c.succession.ended(call, answer);
  if (answer == nullptr || answer->kind != model::Kind::kReply) return;
  c.latency.answered(call, *answer);
  c.congestion.answered(call, *answer);
  c.chunks.note(call, *answer, as.thresholds);
  c.gss.note(call, *answer);
  c.implementation_quirks.answered(call, *answer, as.thresholds);
}

void Diagnoses::refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                        std::uint32_t psn, const roce::PacketMeta& meta) {
  OfConnection& c = at(connection.index);
  const auto refused = static_cast<std::size_t>(1 - sender);
  c.stalls[refused].refused();
  c.recovery[refused].refused(aeth, psn, meta);
}

void Diagnoses::retransmission(const roce::Connection& connection, int sender, std::uint32_t psn,
                               std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) {
  OfConnection& c = at(connection.index);
  for (Stalls& stalls : c.stalls) stalls.sent_again(1, meta.time_ns);
  c.stalls[static_cast<std::size_t>(sender)].caller_sent_again(idle_ns, meta);
  Recovery& recovery = c.recovery[static_cast<std::size_t>(sender)];
  const std::int64_t since = meta.time_ns - idle_ns;
  switch (recovery.sent_again(psn, idle_ns, begins, meta)) {
    case Stall::kNone:
      break;
    case Stall::kLoss:
      recovery.held_up(c.latency.stood_still(since, meta.time_ns));
      break;
    case Stall::kNoReceive:
      c.latency.waited_for_receive(since, meta.time_ns);
      break;
  }
}

void Diagnoses::reported_again(const roce::Connection& connection, int sender, std::uint64_t count,
                               const roce::PacketMeta& meta) {
  OfConnection& c = at(connection.index);
  for (Stalls& stalls : c.stalls) stalls.sent_again(count, meta.time_ns);
  c.recovery[static_cast<std::size_t>(sender)].reported_again(count, meta);
}

void Diagnoses::merge(const roce::Connection& into, const roce::Connection& from) {
  latest_index_ = UINT32_MAX;
  connections_.erase(into.index);
  connections_.erase(from.index);
  first_calls_.drop(into.index);
  first_calls_.drop(from.index);
}

// Reports REQs that were resent and not answered: the capture contains all of them, so it would
// contain a REP or REJ.
void Diagnoses::report_unanswered(const roce::Connection& connection) {
  if (connection.state != roce::State::kOpening || connection.requests_sent < 2) return;
  if (connection.side[0].counters.packets != 0 || connection.side[1].counters.packets != 0) return;
  Evidence e;
  e.connection = &connection;
  e.frames = {connection.side[0].cm.frame, connection.last_frame};
  findings_.add(RuleId::kConnLost, e, [&] {
    return fmt::format("the server did not answer the REQ, which was sent {} times",
                       connection.requests_sent);
  });
}

// The sender of the DREQ is at fault, unless it had waited for an answer for long, or the other
// side had given it cause.
void Diagnoses::report_cut_off(const OfConnection& c, const roce::Connection& connection,
                               const ConnectionHistory& history) {
  const int closer = connection.closed_by;
  Wait waited = closer < 0 ? Wait::kShort : history.waited[static_cast<std::size_t>(closer)];
  // The closer has waited for longer than the capture point saw it wait.
  if (closer >= 0 && waited == Wait::kShort &&
      c.stalls[static_cast<std::size_t>(closer)].stood_still_before(connection.ended_ns)) {
    waited = Wait::kLong;
  }
  const Violation* cause = cause_of_end(connection, history);
  const bool proven = cause != nullptr && cause->rule != nullptr && findings_.certain(*cause);
  if (!proven && waited != Wait::kShort) cause = nullptr;
  const model::ConnectionModel& cm = model_.connection(connection.index);
  // An endpoint that is stopped, or whose client is, ends its connections with Calls in flight:
  // neither side is at fault. A capture between the two does not show why a side ended it.
  const bool own_calls = closer >= 0 && closer == cm.client && !c.cut_off_reverse;
  const bool stopped = connection.recorded && (closer == connection.recorder || own_calls);
  if (stopped && cause == nullptr && waited == Wait::kShort) return;
  Evidence e;
  e.connection = &connection;
  e.side = closer;
  if (cause != nullptr) {
    e.side = proven ? 1 - closer : -1;
  } else if (waited != Wait::kShort) {
    e.side = waited == Wait::kInVain ? 1 - closer : -1;
  }
  e.frames = {c.cut_off_frame, connection.closed_frame};
  if (cm.sends != cm.messages) e.unsure = "a message of the connection is truncated in the capture";
  findings_.add(
      RuleId::kConnLost, e,
      [&] {
        const std::string calls =
            c.cut_off == 1 ? fmt::format("Call {:#010x} was in flight", c.cut_off_xid)
                           : fmt::format("{} Calls were in flight, the first of them {:#010x}",
                                         c.cut_off, c.cut_off_xid);
        return fmt::format(
            "{} while {}, sent {} before{}",
            closer < 0             ? "the connection ended"
            : is_iwarp(connection) ? "TCP closed the connection"
                                   : "a DREQ ended the connection",
            calls, duration(connection.ended_ns - c.cut_off_ns),
            cause != nullptr ? given_cause(connection, *cause, proven)
            : waited == Wait::kShort
                ? std::string()
                : fmt::format("; {} had waited long for an answer", closer_name(connection)));
      },
      cause != nullptr         ? "Start with that violation: a peer may end the connection for it. "
                                 "Every unanswered Call fails or is resent on a new connection."
      : waited == Wait::kShort ? nullptr
                               : "Find out why there was no answer for so long, first in the "
                                 "responder. Every unanswered Call fails or is resent on a new "
                                 "connection.");
}

void Diagnoses::keep_silences(const OfConnection& c, const roce::Connection& connection) {
  const std::int64_t end_ns = roce::seen_until(connection, connection.ended_ns);
  for (const Stalls& stalls : c.stalls) {
    Silence longest = stalls.longest_silence(end_ns);
    if (longest.length_ns() <= 0) continue;
    longest.connection = connection.index;
    const auto shorter = [&](const Silence& s) { return s.length_ns() < longest.length_ns(); };
    silences_.insert(std::find_if(silences_.begin(), silences_.end(), shorter), longest);
    if (silences_.size() > kSilences) silences_.pop_back();
  }
}

bool Diagnoses::close(const roce::Connection& connection, const ConnectionHistory* history) {
  const bool refused = connection.state == roce::State::kRejected;
  const bool failed = !refused && !connection.failure.empty();
  if (refused && (is_rpc(connection) || meant_for_nfs(connection)))
    report_refused(findings_, connection);
  if (is_rpc(connection)) report_unanswered(connection);
  if (is_rpc(connection) || model_.connection(connection.index).speaks == model::Speaks::kRpc) {
    note_silent(capture_gaps_.silent, set_up_only_, connection);
  }
  const auto it = connections_.find(connection.index);
  if (it == connections_.end()) {
    // The private data identifies RPC-over-RDMA: messages missing from the capture count as lost.
    if (model_.connection(connection.index).speaks == model::Speaks::kRpc) {
      note_closed(capture_gaps_, connection, 0);
    }
    if (failed) report_failed(findings_, connection);
    return false;
  }
  OfConnection& c = *it->second;
  const ConnectionHistory nothing;
  const ConnectionHistory& h = history == nullptr ? nothing : *history;
  const model::ConnectionModel& cm = model_.connection(connection.index);
  bool broken = false;
  bool departed = false;
  if (cm.speaks == model::Speaks::kRpc) {
    note_closed(capture_gaps_, connection, c.cut_short);
    for (Stalls& stalls : c.stalls) {
      if (stalls.stood_still()) stalls.report_standstill(findings_, connection);
    }
    keep_silences(c, connection);
    const std::int64_t stalled = report_faults(c, connection, history);
    for (int side = 0; side < 2; ++side) {
      const auto s = static_cast<std::size_t>(side);
      broken |= c.recovery[s].report_fatal(findings_, connection, side, h.side[s]);
    }
    if (!broken && failed) {
      broken = true;
      report_failed(findings_, connection);
    }
    const bool whole = model::losses(connection) == 0 && roce::both_directions_seen(connection);
    if (!broken && connection.state == roce::State::kClosed && c.cut_off != 0 && whole) {
      broken = c.cut_off_client;
      report_cut_off(c, connection, h);
    }
    if (cm.client >= 0) {
      c.chunks.report(findings_, connection, cm.client);
      c.gss.report(findings_, connection, cm.client);
      c.registrations.report(findings_, connection, cm.client);
      report_latency(c, connection, history, stalled);
      c.congestion.report(findings_, connection, cm.client);
      c.implementation_quirks.report(findings_, connection, cm.client);
      c.succession.report(findings_, connection);
    }
    auto left = it->second->succession.depart(connection, cm.client, broken);
    departed = left && !ends_with_capture(connection);
    if (departed) {
      if (departed_.size() == kDeparted) departed_.pop_front();
      departed_.push_back(std::move(left));
      ++departed_ever_;
    }
  }
  latest_index_ = UINT32_MAX;
  connections_.erase(it);
  return departed;
}

Handover Diagnoses::handover() const {
  Handover all;
  all.departed.assign(departed_.begin(), departed_.end());
  all.begun = first_calls_.list();
  all.complete = first_calls_.complete();
  return all;
}

void Diagnoses::congestion(const roce::CongestionSignal& event) {
  at(event.connection.index).congestion.signalled(event.meta);
}

void Diagnoses::pause(const model::PauseSeen& event) {
  paused_ |= event.pause.paused != 0;
  pauses_.note(event.pause, event.frame);
}

void Diagnoses::finish() {
  report_pauses(pauses_.by_source(), findings_);
  if (only_set_ups(all_.stats())) capture_gaps_.silent = set_up_only_;
  report_capture_gaps(capture_gaps_, all_.stats(), findings_);
}

}  // namespace rpcrdma::rules
