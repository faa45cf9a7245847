// Checks which message an answer is for. A Reply or RDMA_ERROR without an in-flight Call may be a
// second answer, an answer to a message that was no Call, or an answer to nothing.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/roce/psn.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;
using wire::RdmaErr;

// A Call that is unanswered for this long will never be answered.
constexpr std::int64_t kLongNs = 30'000'000'000;
// Replies arrive in any order: the answer to a later Call is significant only after this time.
constexpr std::int64_t kPassedOverNs = 1'000'000'000;

Evidence since(const PastMessage& past, const model::Message& m, const CheckContext& context) {
  Evidence e = evidence(m, context.connection, m.sender);
  e.frames = {past.frame, m.frame};
  e.unsure = context.history.sends_unsure;
  return e;
}

void check_second_answer(const model::Message& m, const PastMessage& past,
                         const CheckContext& context) {
  // The requester may not have understood the first answer.
  if (past.misdirected) return;
  Evidence e = since(past, m, context);
  if (past.fate == Fate::kRefused && m.kind == Kind::kReply) {
    return context.findings.add(RuleId::kErr07, e, [&] {
      return fmt::format(
          "the responder replied to Call {:#010x}, which its RDMA_ERROR in frame {} had ended",
          m.xid, past.end_frame);
    });
  }
  context.findings.add(RuleId::kHdr10, e, [&] {
    return fmt::format("the responder answered Call {:#010x} again after its answer in frame {}",
                       m.xid, past.end_frame);
  });
}

// Returns the rdma_err with which the message should have been refused.
bool is_unknown_proc(const PastMessage& past) {
  return past.version == 2 && past.proc != 0 && past.proc != 1 && past.proc != 4 && past.proc != 5;
}

RdmaErr expected_error(const PastMessage& past) {
  if (past.version != 1 && past.version != 2) return RdmaErr::kVers;
  if (past.fate == Fate::kOption) return RdmaErr::kInvalOption;
  if (past.version == 1) return RdmaErr::kChunk;
  return is_unknown_proc(past) ? RdmaErr::kInvalProc : RdmaErr::kChunk;
}

// An error copies rdma_vers of the message that caused it, even if that cannot be parsed. In
// another version, only ERR_VERS makes sense: its sender supports no more.
bool check_error_version(const model::Message& m, const PastMessage& past,
                         const CheckContext& context) {
  const bool known = past.version == 1 || past.version == 2;
  if (!known || m.version == past.version || m.error == RdmaErr::kVers) return true;
  Evidence e = since(past, m, context);
  e.topic = 1;
  e.needs = kLossFree;
  e.losses_before = model::losses(context.connection);
  context.findings.add(RuleId::kHdr04, e, [&] {
    return fmt::format(
        "the responder refused message {:#010x} of version {}, which cannot be parsed, with {} of "
        "version {}",
        m.xid, past.version, wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error)),
        m.version);
  });
  return false;
}

void check_answer_to_malformed(const model::Message& m, const PastMessage& past,
                               const CheckContext& context) {
  if (m.kind == Kind::kReply) {
    if (past.version != 1 && past.version != 2) {
      return context.findings.add(RuleId::kErr05, since(past, m, context), [&] {
        return fmt::format(
            "the responder sent a Reply to message {:#010x} of version {} instead of ERR_VERS",
            m.xid, past.version);
      });
    }
    if (!m.rpc.header_seen || m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
        m.rpc.accept_stat != wire::AcceptStat::kSuccess) {
      return;
    }
    return context.findings.add(RuleId::kErr05, since(past, m, context), [&] {
      return fmt::format(
          "the responder sent results for message {:#010x}, whose header cannot be parsed", m.xid);
    });
  }
  if (m.error == RdmaErr::kVers) {
    check_refused_version(m, past.version, since(past, m, context), context);
  }
  if (!check_error_version(m, past, context)) return;
  const RdmaErr expected = expected_error(past);
  // A peer that supports only version 1 may refuse version 2, whatever else is wrong.
  if (m.error == expected || (m.error == RdmaErr::kVers && past.version == 2)) return;
  // INVAL_OPTION is due for an option that the responder does not know. The content of a known one
  // may be wrong, or its results too long; a capture does not show which options it knows.
  const bool option_known = m.error == RdmaErr::kChunk || m.error == RdmaErr::kCantReply;
  if (past.fate == Fate::kOption && option_known) return;
  const RuleId id = past.version == 2 ? RuleId::kV208 : RuleId::kErr05;
  context.findings.add(id, since(past, m, context), [&] {
    return fmt::format("the responder refused message {:#010x} of version {} with {} instead of {}",
                       m.xid, past.version,
                       wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error)),
                       wire::rdma_err_name(m.version, static_cast<std::uint32_t>(expected)));
  });
}

// Reports an RDMA_ERROR that answers a message in `frame` that was no Call.
void check_error_to_answer(const model::Message& m, const PastMessage& past, std::uint64_t frame,
                           const char* what, const CheckContext& context) {
  Evidence e = since(past, m, context);
  e.frames = {frame, m.frame};
  context.findings.add(RuleId::kErr06, e, [&] {
    return fmt::format("an RDMA_ERROR answers {} {:#010x}", what, m.xid);
  });
}

void check_answer_to_nothing(const model::Message& m, const CheckContext& context,
                             const AnswerHistory& history) {
  // Calls from before the capture are not known.
  if (context.connection.setup != roce::Setup::kCm || history.incomplete) return;
  // If no message is unanswered that the RDMA_ERROR could be for, the Call may be missing.
  const bool misnamed =
      m.kind == Kind::kError && (m.credits.in_use != 0 || history.has_unanswered(m.caller));
  const RuleId id = misnamed ? RuleId::kErr01 : RuleId::kHdr10;
  Evidence e = evidence(m, context.connection, m.sender);
  e.topic = 1;
  e.unsure = context.history.sends_unsure;
  context.findings.add(id, e, [&] {
    return fmt::format("{} has XID {:#010x}, which no in-flight Call has",
                       m.kind == Kind::kError ? "an RDMA_ERROR" : "a Reply", m.xid);
  });
}

void check_unmatched(const model::Message& m, const CheckContext& context, AnswerHistory& history) {
  const auto peer = static_cast<std::uint8_t>(1 - m.sender);
  // Two Calls with one XID get two answers: the responder is not at fault for their XIDs.
  const auto is_due = [](const PastMessage& p) {
    return p.fate == Fate::kSuperseded && !p.answered;
  };
  if (PastMessage* past = history.find(peer, m.xid, is_due)) {
    past->answered = true;
    return;
  }
  if (PastMessage* past = history.find(peer, m.xid)) {
    if (m.kind == Kind::kError && past->objected_frame != 0) {
      return check_error_to_answer(m, *past, past->objected_frame, "RDMA_ERROR", context);
    }
    switch (past->fate) {
      case Fate::kReplied:
      case Fate::kRefused:
        return check_second_answer(m, *past, context);
      case Fate::kMalformed:
      case Fate::kOption:
        past->answered = true;
        past->end_frame = m.frame;
        if (past->fate == Fate::kOption) history.knows_options[m.sender] = true;
        return check_answer_to_malformed(m, *past, context);
      case Fate::kDone:
        if (m.kind == Kind::kError)
          check_error_to_answer(m, *past, past->frame, "RDMA_DONE", context);
        return;
      case Fate::kSuperseded:
        break;
    }
  }
  if (m.kind == Kind::kError) {
    // The sender of the RDMA_ERROR received an answer and answers that.
    PastMessage* past = history.find(m.sender, m.xid);
    const bool replied = past != nullptr && past->fate == Fate::kReplied;
    if (replied || (past != nullptr && (past->fate == Fate::kRefused || past->answered))) {
      past->objected_frame = m.frame;
      return check_error_to_answer(m, *past, past->end_frame, replied ? "Reply" : "RDMA_ERROR",
                                   context);
    }
  }
  check_answer_to_nothing(m, context, history);
}

std::uint64_t offered_for_results(const model::Message& call) {
  return rules::total_length(call.write_segments) + rules::total_length(call.reply_segments);
}

PastMessage past_of(const model::Message& m, Fate fate) {
  PastMessage p;
  p.xid = m.xid;
  p.version = m.version;
  p.proc = m.proc;
  p.opttype = m.opttype;
  p.psn = m.psn;
  p.psn_known = m.psn_known;
  p.sender = m.sender;
  p.fate = fate;
  p.frame = m.frame;
  p.time_ns = m.time_ns;
  p.id = m.id;
  return p;
}

// Returns a hash of lengths and Positions in the chunk lists of a Call, which do not change when
// the requester registers its memory again.
std::uint64_t shape_of(const model::Message& call) {
  std::uint64_t h = call.write_counts.size() << 1 | (call.has_reply_chunk ? 1 : 0);
  const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ULL; };
  for (const wire::ReadSegment& s : call.reads)
    mix(std::uint64_t{s.position} << 32 | s.target.length);
  for (const std::uint32_t count : call.write_counts) mix(count);
  for (const wire::Segment& s : call.write_segments) mix(s.length);
  for (const wire::Segment& s : call.reply_segments) mix(s.length);
  return h;
}

// RFC 5666 section 3.5: a requester that has read the chunks of a Reply sends RDMA_DONE.
void check_done_missing(const PastMessage& past, const CheckContext& context) {
  if (!past.done_due || context.findings.profile() != Profile::k5666) return;
  Evidence e;
  e.connection = &context.connection;
  e.side = past.sender;
  e.frames = {past.frame, past.end_frame};
  e.needs = kLossFree | kBothDirections;
  e.unsure = context.history.sends_unsure;
  context.findings.add(RuleId::kRd01, e, [&] {
    return fmt::format("the requester sent no RDMA_DONE for the Read chunks of Reply {:#010x}",
                       past.xid);
  });
}

// Returns whether the receiver of the message had it for long enough to answer, while the
// connection lasted.
bool had_time(const PastMessage& past, const CheckContext& context) {
  const roce::Connection& c = context.connection;
  const roce::Side& sender = c.side[past.sender];
  const std::int64_t end = c.ended_ns != 0 ? c.ended_ns : c.last_ns;
  const bool arrived =
      !past.psn_known || (sender.acked_known && roce::psn_diff(sender.acked_psn, past.psn) >= 0);
  return arrived && roce::seen_until(c, end) - past.time_ns >= kPassedOverNs;
}

Evidence unanswered_evidence(const PastMessage& past, const CheckContext& context) {
  Evidence e;
  e.connection = &context.connection;
  e.side = 1 - past.sender;
  e.message = past.id;
  e.frames = {past.frame, past.passed_by};
  e.topic = 1;
  e.unsure = context.history.sends_unsure;
  e.needs = kLossFree | kBothDirections;
  return e;
}

// Each side, as a receiver, must answer an rdma_proc that version 2 does not have.
void check_unknown_proc_refused(const PastMessage& past, const CheckContext& context) {
  if (past.fate != Fate::kMalformed || !is_unknown_proc(past) || !had_time(past, context)) return;
  const Evidence e = unanswered_evidence(past, context);
  context.findings.add(RuleId::kV213, e, [&] {
    return fmt::format(
        "the receiver sent no INVAL_PROC for message {:#010x}, whose rdma_proc is {}", past.xid,
        past.proc);
  });
}

// A receiver may know the option, and then owe no answer. One that sends no message about any
// option probably knows none.
void check_option_refused(const PastMessage& past, const CheckContext& context,
                          const AnswerHistory& history) {
  if (past.fate != Fate::kOption || history.knows_options[1U - past.sender]) return;
  if (!had_time(past, context)) return;
  Evidence e = unanswered_evidence(past, context);
  e.topic = 2;
  e.at_most = Level::kNote;
  context.findings.add(
      RuleId::kV213, e,
      [&] {
        return fmt::format(
            "the receiver did not answer RDMA2_OPTIONAL {:#010x} of type {}, nor any other; unless "
            "it knows the type, it owes INVAL_OPTION",
            past.xid, past.opttype);
      },
      "Check whether the receiver knows this option. If it does not, have it answer with "
      "INVAL_OPTION.");
}

// A responder must answer a header that it cannot parse with an error before it answers a later
// Call. The message was a Call if the client sent it and there was no reverse Call to answer.
void check_error_missing(const PastMessage& past, const CheckContext& context,
                         const AnswerHistory& history) {
  if (past.answered) return;
  const model::ConnectionModel& model = context.model;
  const bool passed_over = past.fate == Fate::kMalformed && past.passed_by != 0 &&
                           model.client_certain && model.client == past.sender &&
                           model.caller[1U - past.sender].calls == 0;
  if (!passed_over) {
    check_unknown_proc_refused(past, context);
    check_option_refused(past, context, history);
    return;
  }
  const Evidence e = unanswered_evidence(past, context);
  context.findings.add(past.version == 2 ? RuleId::kV208 : RuleId::kErr05, e, [&] {
    return fmt::format(
        "the responder sent no RDMA_ERROR for message {:#010x}, whose header cannot be parsed, but "
        "answered a later Call",
        past.xid);
  });
}

void check_forgotten(const PastMessage& past, const CheckContext& context,
                     const AnswerHistory& history) {
  check_done_missing(past, context);
  check_error_missing(past, context, history);
}

void remember(const PastMessage& past, const CheckContext& context, AnswerHistory& history) {
  check_forgotten(history.add(past), context, history);
}

void note_passed(const model::Message& call, const model::Message& answer, AnswerHistory& history) {
  for (PastMessage& past : history.all()) {
    if (past.fate == Fate::kMalformed && past.passed_by == 0 && past.sender == call.sender &&
        past.id < call.id) {
      past.passed_by = answer.frame;
    }
  }
}

// An RDMA2_OPTIONAL may answer another by its XID.
void note_option(const model::Message& m, const CheckContext& context, AnswerHistory& history) {
  history.knows_options[m.sender] = true;
  PastMessage* const asked =
      history.find(static_cast<std::uint8_t>(1 - m.sender), m.xid,
                   [](const PastMessage& p) { return p.fate == Fate::kOption; });
  if (asked != nullptr) asked->answered = true;
  PastMessage past = past_of(m, Fate::kOption);
  past.answered = asked != nullptr || m.direction == wire::MsgType::kReply;
  remember(past, context, history);
}

// An RDMA_ERROR that cannot be parsed still counts as an answer.
void note_broken_error(const model::Message& m, AnswerHistory& history) {
  PastMessage* past = history.find(static_cast<std::uint8_t>(1 - m.sender), m.xid);
  if (past == nullptr || past->fate != Fate::kMalformed) return;
  past->answered = true;
  past->end_frame = m.frame;
}

void note_unnamed(const model::Message& call, bool answered, const CheckContext& context) {
  const model::RpcInfo& rpc = call.rpc;
  if (!rpc.known || decode::procedure_name(rpc.program, rpc.version, rpc.procedure) != nullptr) {
    return;
  }
  std::vector<UnnamedProcedure>& all = context.history.note_rare().unnamed[call.caller];
  auto it =
      std::find_if(all.begin(), all.end(), [&](const UnnamedProcedure& p) { return p.is(rpc); });
  if (it == all.end()) {
    if (answered || all.size() == UnnamedProcedure::kMost) return;
    it = all.insert(it, {rpc.program, rpc.version, rpc.procedure, 0, 0, call.id});
  }
  ++(answered ? it->answers : it->calls);
}

// A Call that an RDMA_ERROR refused is refused again if it does not change.
void check_refused_again(const model::Message& m, const model::Call& call,
                         const CheckContext& context, AnswerHistory& history) {
  const PastMessage* past = history.find(m.sender, m.xid);
  if (past == nullptr || past->fate != Fate::kRefused || past->cant_reply) return;
  const bool known = call.digest != 0 || m.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg);
  if (!known || past->version != m.version || past->proc != m.proc || past->digest != call.digest ||
      past->shape != shape_of(m)) {
    return;
  }
  Evidence e = since(*past, m, context);
  e.frames = {past->end_frame, m.frame};
  e.topic = 1;
  e.at_most = Level::kWarning;  // useless but harmless
  context.findings.add(
      RuleId::kErr07, e,
      [&] {
        return fmt::format(
            "the requester resent Call {:#010x} unchanged after an RDMA_ERROR refused it", m.xid);
      },
      "Have the requester fail the RPC, or change the Call before it resends it: version, chunks, "
      "or the space for results.");
}

void check_done(const model::Message& m, const CheckContext& context, AnswerHistory& history) {
  PastMessage* past =
      history.find(m.sender, m.xid, [](const PastMessage& p) { return p.done_due; });
  if (past != nullptr) past->done_due = false;
  // A Reply before the capture began may have had the chunks.
  const bool legal = context.findings.profile() == Profile::k5666 &&
                     (past != nullptr || context.connection.setup != roce::Setup::kCm);
  if (!legal) {
    Evidence e = evidence(m, context.connection, m.sender);
    if (context.findings.profile() == Profile::k5666) {
      // The Reply may be missing from the capture.
      e.needs = kLossFree | kBothDirections;
      e.unsure = context.history.sends_unsure;
    }
    context.findings.add(RuleId::kDep01, e, [&] {
      return context.findings.profile() == Profile::k8166
                 ? fmt::format("the sender used RDMA_DONE, for XID {:#010x}", m.xid)
                 : fmt::format(
                       "an RDMA_DONE has XID {:#010x}, but no Reply with that XID has Read "
                       "chunks",
                       m.xid);
    });
  }
  remember(past_of(m, Fate::kDone), context, history);
}

void check_superseding(const model::Message& m, const CheckContext& context,
                       AnswerHistory& history) {
  const AnswerHistory::Superseded old = std::exchange(history.superseded, {});
  Evidence e = evidence(m, context.connection, m.sender);
  e.frames = {old.frame, m.frame};
  e.losses_before = old.losses_before;
  e.suspect |= old.suspect;
  e.unsure = unheard(1U - m.sender, m.id, context);
  context.findings.add(RuleId::kHdr09, e, [&] {
    return fmt::format(
        "the requester sent Call {:#010x} while the Call with this XID in frame {} was in flight",
        m.xid, old.frame);
  });
}

void check_larger_offer(const model::Message& m, const model::Call& call,
                        const CheckContext& context, AnswerHistory& history) {
  PastMessage* past =
      history.find(m.sender, m.xid, [](const PastMessage& p) { return p.cant_reply; });
  if (past == nullptr) return;
  past->cant_reply = false;
  if (offered_for_results(m) > past->offered) return;
  Evidence e = since(*past, m, context);
  e.losses_before = call.losses_before;
  context.findings.add(RuleId::kV210, e, [&] {
    return fmt::format(
        "Call {:#010x} provides {} bytes for its results, but was refused before with {}", m.xid,
        offered_for_results(m), past->offered);
  });
}

}  // namespace

void check_answers(const model::Message& m, const model::Call* call, const CheckContext& context,
                   AnswerHistory& history) {
  switch (m.kind) {
    case Kind::kCall:
      note_unnamed(m, false, context);
      if (history.superseded.frame != 0) check_superseding(m, context, history);
      if (history.refused_seen && call != nullptr) check_refused_again(m, *call, context, history);
      if (history.cant_reply_seen && m.version == 2 && call != nullptr) {
        check_larger_offer(m, *call, context, history);
      }
      break;
    case Kind::kReply:
    case Kind::kError:
      if (call == nullptr) check_unmatched(m, context, history);
      break;
    case Kind::kDone:
      check_done(m, context, history);
      break;
    case Kind::kOption:
      note_option(m, context, history);
      break;
    case Kind::kMalformed:
      // The message may be an RDMA_ERROR of some version, which gets no answer. The same applies
      // if it ends before its rdma_proc.
      if (m.wire_length < wire::kPrefixBytes) break;
      if (m.proc != static_cast<std::uint32_t>(wire::Proc::kError)) {
        remember(past_of(m, Fate::kMalformed), context, history);
        history.malformed_seen = true;
      } else {
        note_broken_error(m, history);
      }
      break;
    case Kind::kControl:
      break;
  }
}

// Returns whether the client of a version 2 connection has answered no reverse Call at all.
bool never_answers(const model::Call& call, const CheckContext& context) {
  const model::CallerCounts& counts = context.model.caller[call.message.caller];
  return context.reverse && call.message.version == 2 && context.model.client_certain &&
         counts.replies == 0 && counts.errors == 0 && counts.unmatched_replies == 0;
}

void accuse_of_no_reverse_direction(const model::Call& call, std::int64_t age_ns,
                                    const CheckContext& context) {
  const model::Message& m = call.message;
  const auto client = static_cast<std::size_t>(1 - m.caller);
  Evidence e = evidence(m, context.connection, static_cast<int>(client));
  e.unsure = context.history.sends_unsure;
  if (e.unsure == nullptr) e.unsure = unheard(client, m.id, context);
  context.findings.add(RuleId::kBi08, e, [&] {
    return fmt::format("the client did not answer reverse Call {:#010x} in {} s, nor any other",
                       m.xid, age_ns / 1'000'000'000);
  });
}

// Calls of some programs get no answer, by agreement (RFC 5531 section 8.4.1).
void note_one_way(const model::Message& call, Evidence e, const CheckContext& context) {
  e.topic = 3;
  e.at_most = Level::kNote;
  context.findings.add(
      RuleId::kHdr10, e,
      [&] {
        return fmt::format(
            "Call {:#010x}, as every Call of program {} version {} procedure {}, got no answer, "
            "unlike later Calls; the procedure may be one-way",
            call.xid, call.rpc.program, call.rpc.version, call.rpc.procedure);
      },
      "No action needed if the program defines this procedure without a Reply. Otherwise search "
      "the "
      "responder's log for the XID.");
}

// Reports a Call that stayed unanswered although its responder had enough time, closed the
// connection, or answered later Calls.
void check_unanswered(const model::Call& call, const CheckContext& context) {
  const roce::Connection& c = context.connection;
  const model::Message& m = call.message;
  if (context.history.misdirected.has(m.id)) return;
  const auto responder = 1 - m.caller;
  const std::int64_t age = roce::seen_until(c, c.ended_ns) - m.time_ns;
  const bool long_ago = age >= kLongNs;
  Wait& waited = context.history.waited[m.caller];
  if (long_ago && waited == Wait::kShort) waited = Wait::kLong;
  // If the caller's adapter refused an operation of the responder, no answer can follow.
  const SideHistory& answering = context.history.side[static_cast<std::size_t>(responder)];
  if (may_be_by_fault_of_peer(answering.refused_operation)) return;
  // A responder cannot answer a Call that did not arrive or that it could not read: see CONN-LOST.
  const roce::Side& caller = c.side[m.caller];
  const std::uint64_t latest_answered = context.history.latest_answered[m.caller];
  const bool arrived = !m.psn_known || !caller.acked_known || latest_answered > m.id ||
                       roce::psn_diff(caller.acked_psn, m.psn) >= 0;
  if (!arrived || context.history.read_unanswered[static_cast<std::size_t>(responder)]) return;
  if (long_ago) waited = Wait::kInVain;
  const bool closed = c.state == roce::State::kClosed;
  if (closed && age >= kPassedOverNs && never_answers(call, context)) {
    return accuse_of_no_reverse_direction(call, age, context);
  }
  const bool passed_over = closed && latest_answered > m.id && age >= kPassedOverNs;
  if (passed_over && waited == Wait::kShort) waited = Wait::kLong;
  // A responder that was given cause may end the connection.
  const bool closed_on =
      closed && c.closed_by == responder && !context.history.gave_cause(m.caller);
  if (!closed_on && !passed_over && !long_ago) return;
  Evidence e = evidence(m, c, responder);
  e.topic = 2;
  e.unsure = context.history.sends_unsure;
  if (e.unsure == nullptr) e.unsure = unheard(static_cast<std::size_t>(responder), m.id, context);
  if (context.history.may_be_one_way(m)) return note_one_way(m, e, context);
  context.findings.add(RuleId::kHdr10, e, [&] {
    return closed ? fmt::format(
                        "the responder did not answer Call {:#010x} before the connection "
                        "closed{}",
                        m.xid, passed_over ? ", but answered a later one" : "")
                  : fmt::format("the responder did not answer Call {:#010x} within {} s", m.xid,
                                age / 1'000'000'000);
  });
}

void note_call_end(const model::Call& call, const model::Message* answer,
                   const CheckContext& context, AnswerHistory& history) {
  switch (call.ending) {
    case model::Ending::kReplied:
    case model::Ending::kError: {
      PastMessage past = past_of(
          call.message, call.ending == model::Ending::kError ? Fate::kRefused : Fate::kReplied);
      past.end_frame = answer->frame;
      past.misdirected = context.history.misdirected.has(answer->id);
      past.done_due = answer->kind == Kind::kReply && !answer->reads.empty();
      past.cant_reply = answer->kind == Kind::kError && answer->error == RdmaErr::kCantReply;
      if (past.fate == Fate::kRefused) {
        past.digest = call.digest;
        past.shape = shape_of(call.message);
        history.refused_seen = true;
      }
      note_unnamed(call.message, true, context);
      std::uint64_t& latest = context.history.latest_answered[call.message.caller];
      latest = std::max(latest, call.message.id);
      if (history.malformed_seen) note_passed(call.message, *answer, history);
      if (past.cant_reply) {
        past.offered = offered_for_results(call.message);
        history.cant_reply_seen = true;
      }
      remember(past, context, history);
      break;
    }
    case model::Ending::kSuperseded:
      history.superseded = {call.message.frame, call.losses_before, call.message.suspect};
      remember(past_of(call.message, Fate::kSuperseded), context, history);
      history.incomplete = true;
      break;
    case model::Ending::kForgotten:
      history.incomplete = true;
      break;
    case model::Ending::kClosed:
      check_unanswered(call, context);
      break;
  }
}

void check_answers_at_close(const CheckContext& context, const AnswerHistory& history) {
  // If the capture ends before the connection, the RDMA_DONE may follow later.
  const bool closed = context.connection.state == roce::State::kClosed;
  for (const PastMessage& past : history.all()) {
    if (closed) check_done_missing(past, context);
    check_error_missing(past, context, history);
  }
}

}  // namespace rpcrdma::rules
