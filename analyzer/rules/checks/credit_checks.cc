// Credit ledgers, one for the Calls of each side.
//
// A capture shows a Reply before the requester receives it, so the capture does not show which
// grant applied when the requester sent a Call. But Replies arrive in order: if the requester had
// received `j` of the `n` captured answers, `in_use` + n - j of its Calls were in flight from its
// point of view, and its limit was the grant of answer j. If that exceeds the limit for every j,
// that is, if in_use + n is greater than every grant_j + j, the requester exceeded its credits
// whatever it had received. Only then is a violation reported. So a smaller grant applies to a
// requester after as many answers as the old grant allowed Calls.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

// The assumed grant after a mid-stream start: more than any responder is known to grant.
constexpr std::uint32_t kUnknownGrant = 1024;

void begin_ledgers(const CheckContext& context) {
  if (context.history.begun) return;
  context.history.begun = true;
  if (context.connection.setup == roce::Setup::kCm) return;
  for (Ledger& ledger : context.history.ledger) ledger.allowed = ledger.grant = kUnknownGrant;
}

Evidence credit_evidence(const model::Message& m, const Ledger& ledger,
                         const CheckContext& context) {
  Evidence e = evidence(m, context.connection, m.sender);
  if (ledger.grant_frame != 0) e.frames = {ledger.grant_frame, m.frame};
  e.unsure = context.history.messages_unsure;
  // An unparsable message of the caller itself contains no grant for it. It may be one more Call,
  // or an answer of the other direction.
  const std::size_t caller = m.caller;
  if (e.unsure != nullptr && e.unsure == context.history.unread[caller] &&
      context.history.unread[1 - caller] == nullptr) {
    e.unsure = context.history.sends_unsure;
  }
  return e;
}

// Returns whether the Call would be within the grant of the previous connection.
bool within_past_grant(const model::Message& m, const CheckContext& context) {
  const Past* past = context.all.past(context.connection, context.history);
  return past != nullptr && past->precedes(context.connection) &&
         m.credits.in_use <= past->grant[History::place(context.connection, m.sender)];
}

void accuse_before_first_grant(const model::Message& m, const Ledger& ledger,
                               const CheckContext& context) {
  const bool v2 = m.version == 2;
  const bool carried_over = !v2 && within_past_grant(m, context);
  const RuleId rule = v2 ? RuleId::kV206 : carried_over ? RuleId::kFc08 : RuleId::kFc03;
  context.findings.add(rule, credit_evidence(m, ledger, context), [&] {
    return fmt::format("the requester had {} Calls in flight before the first Reply{}{}",
                       m.credits.in_use, context.reverse ? " of the reverse direction" : "",
                       carried_over ? ", as many as the previous connection had granted" : "");
  });
}

void accuse_over_grant(const model::Message& m, const Ledger& ledger, const CheckContext& context) {
  const Ledger& other = context.history.ledger[1 - m.caller];
  const bool by_error =
      m.credits.in_use + ledger.answered <= std::max(ledger.allowed, ledger.allowed_error);
  // Only the server, which grants the forward credits itself, could mistake them for its own.
  const bool by_other =
      !by_error && context.reverse && other.grant_frame != 0 && m.credits.in_use <= other.grant;
  const RuleId rule = by_error ? RuleId::kFc06 : by_other ? RuleId::kBi01 : RuleId::kFc01;
  context.findings.add(rule, credit_evidence(m, ledger, context), [&] {
    return fmt::format(
        "the requester had {} Calls in flight with a grant of {}{}", m.credits.in_use, ledger.grant,
        by_error   ? "; only the credit value of an RDMA_ERROR allows more"
        : by_other ? fmt::format("; the grant of the other direction is {}", other.grant)
                   : std::string());
  });
}

bool check_call_credit(const model::Message& m, const CheckContext& context) {
  const Ledger& ledger = context.history.ledger[m.caller];
  if ((context.model.caller[m.caller].absent & roce::kAbsentGrants) != 0) return true;
  if (m.credits.in_use + ledger.answered <= ledger.allowed) return true;
  // The Reply to a later Call returns the credit of a one-way Call.
  const std::uint32_t one_way = context.history.may_be_one_way(m.caller);
  if (m.credits.in_use + ledger.answered <= ledger.allowed + one_way) return true;
  // Grants from before the capture are not known.
  if (ledger.grant_frame == 0 && context.connection.setup != roce::Setup::kCm) return true;
  context.history.note_cause(m.sender, m.id);
  if (ledger.grant_frame == 0) {
    accuse_before_first_grant(m, ledger, context);
  } else {
    accuse_over_grant(m, ledger, context);
  }
  return false;
}

// RFC 5666 allows a grant of zero while a Call is in flight.
void check_grant_not_zero(const model::Message& m, const CheckContext& context) {
  if (m.credit != 0 || model::is_absent(m, roce::kAbsentCredit)) return;
  if (context.findings.profile() == Profile::k5666 &&
      (m.credits.in_use != 0 || model::losses(context.connection) != 0)) {
    return;
  }
  Evidence e = evidence(m, context.connection, m.sender);
  const bool depends = context.findings.profile() == Profile::k5666;  // on the Calls in flight
  if (depends) e.needs = kLossFree | kBothDirections | kSetupSeen;
  if (depends || !m.complete) e.unsure = context.history.sends_unsure;
  context.findings.add(RuleId::kFc02, e, [&] {
    return fmt::format("the responder granted 0 credits in Reply {:#010x}", m.xid);
  });
}

// RFC 8167 no longer has this rule of the draft, nor has any specification one for forward Calls:
// Linux takes any request and grants what it has.
void check_reverse_request(const model::Message& m, const CheckContext& context) {
  if (m.credit != 0 || !context.reverse || !context.model.client_certain) return;
  if (model::is_absent(m, roce::kAbsentCredit)) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.topic = 1;
  e.at_most = Level::kWarning;
  context.findings.add(
      RuleId::kFc02, e,
      [&] { return fmt::format("reverse Call {:#010x} requests 0 credits", m.xid); },
      "Have the server request at least one credit in each reverse Call: a client may grant no "
      "more than was requested.");
}

void note_held_for_done(const model::Message& m, Ledger& ledger) {
  if (m.credit > ledger.grant) {
    ledger.held_for_done -= std::min(ledger.held_for_done, m.credit - ledger.grant);
  } else if (!m.reads.empty()) {
    ledger.held_for_done += ledger.grant - m.credit;
  }
}

void note_answer(const model::Message& m, const model::Call* call, const CheckContext& context) {
  Ledger& ledger = context.history.ledger[m.caller];
  if (call != nullptr) ++ledger.answered;
  if (model::is_absent(m, roce::kAbsentCredit)) return;
  if (m.kind == Kind::kReply) {
    note_held_for_done(m, ledger);
    ledger.grant = std::max(m.credit, 1U);  // zero counts as one, or no Call could follow
    ledger.grant_frame = m.frame;
  } else {
    ledger.allowed_error = std::max(ledger.allowed_error, m.credit + ledger.answered);
  }
  ledger.allowed = std::max(ledger.allowed, ledger.grant + ledger.answered);
}

// Returns whether an RDMA_DONE, which needs a credit and gets no answer, had one.
bool check_done_credit(const model::Message& m, const CheckContext& context) {
  const Ledger& ledger = context.history.ledger[m.sender];
  const std::uint32_t in_use = context.model.caller[m.sender].credits.in_use;
  const std::uint64_t allowed = ledger.allowed + ledger.held_for_done;
  if (ledger.grant_frame == 0 || in_use + 1 + ledger.answered <= allowed) return true;
  context.findings.add(RuleId::kFc07, credit_evidence(m, ledger, context), [&] {
    return fmt::format("the requester sent RDMA_DONE with {} in flight and a grant of {}",
                       counted(in_use, "Call"), ledger.grant);
  });
  return false;
}

}  // namespace

bool check_credits(const model::Message& m, const model::Call* call, const CheckContext& context) {
  begin_ledgers(context);
  switch (m.kind) {
    case Kind::kCall:
      check_reverse_request(m, context);
      return check_call_credit(m, context);
    case Kind::kReply:
      check_grant_not_zero(m, context);
      note_answer(m, call, context);
      break;
    case Kind::kError:
      note_answer(m, call, context);
      break;
    case Kind::kDone:
      return check_done_credit(m, context);
    case Kind::kOption:
    case Kind::kMalformed:
    case Kind::kControl:
      break;
  }
  return true;
}

}  // namespace rpcrdma::rules
