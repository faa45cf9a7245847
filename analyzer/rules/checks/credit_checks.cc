// Two ledgers, one for the Calls of either side.
//
// A capture sees a Reply before its requester does, so it cannot say which grant a Call was sent
// under. But Replies come in order: when a requester had seen `j` of the `n` answers that the
// capture had seen, `in_use` + n - j of its Calls were outstanding to it, and its limit was the
// grant of answer j. If that is too many for every j, that is if in_use + n is more than every
// grant_j + j, then it broke its credit whenever it looked. Only then is it accused; so a grant
// that shrinks is held against a requester after as many answers as the old grant was wide.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

// On a connection of which the beginning was not seen: more than any responder is known to grant.
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
  // What the caller itself has sent holds no grant to it. It may be one Call more, or answer one of
  // the other direction.
  const std::size_t caller = m.caller;
  if (e.unsure != nullptr && e.unsure == context.history.unread[caller] &&
      context.history.unread[1 - caller] == nullptr) {
    e.unsure = context.history.sends_unsure;
  }
  return e;
}

// As if the grant of the connection before this one still held.
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
    return fmt::format("{} Calls outstanding before the first Reply{}{}", m.credits.in_use,
                       context.reverse ? " of the reverse direction" : "",
                       carried_over ? ", within the grant of the connection before this one" : "");
  });
}

void accuse_over_grant(const model::Message& m, const Ledger& ledger, const CheckContext& context) {
  const Ledger& other = context.history.ledger[1 - m.caller];
  const bool by_error =
      m.credits.in_use + ledger.answered <= std::max(ledger.allowed, ledger.allowed_error);
  // The server grants forward credits itself: they are the ones that it could mistake for its own.
  const bool by_other =
      !by_error && context.reverse && other.grant_frame != 0 && m.credits.in_use <= other.grant;
  const RuleId rule = by_error ? RuleId::kFc06 : by_other ? RuleId::kBi01 : RuleId::kFc01;
  context.findings.add(rule, credit_evidence(m, ledger, context), [&] {
    return fmt::format("{} Calls outstanding, {} granted{}", m.credits.in_use, ledger.grant,
                       by_error ? "; only the credit word of an RDMA_ERROR allowed more"
                       : by_other
                           ? fmt::format("; the grant of the other direction is {}", other.grant)
                           : std::string());
  });
}

bool check_call_credit(const model::Message& m, const CheckContext& context) {
  const Ledger& ledger = context.history.ledger[m.caller];
  if (m.credits.in_use + ledger.answered <= ledger.allowed) return true;
  // What was granted before the capture began is not known.
  if (ledger.grant_frame == 0 && context.connection.setup != roce::Setup::kCm) return true;
  context.history.note_cause(m.sender, m.id);
  if (ledger.grant_frame == 0) {
    accuse_before_first_grant(m, ledger, context);
  } else {
    accuse_over_grant(m, ledger, context);
  }
  return false;
}

// RFC 5666 allows a grant of zero while a Call is in progress.
void check_grant_not_zero(const model::Message& m, const CheckContext& context) {
  if (m.credit != 0) return;
  if (context.findings.profile() == Profile::k5666 &&
      (m.credits.in_use != 0 || model::losses(context.connection) != 0)) {
    return;
  }
  Evidence e = evidence(m, context.connection, m.sender);
  const bool depends = context.findings.profile() == Profile::k5666;  // on the Calls in progress
  if (depends) e.needs = kLossFree | kBothDirections | kSetupSeen;
  if (depends || !m.complete) e.unsure = context.history.sends_unsure;
  context.findings.add(RuleId::kFc02, e,
                       [&] { return fmt::format("Reply {:#010x} grants no credit", m.xid); });
}

void note_answer(const model::Message& m, const model::Call* call, const CheckContext& context) {
  Ledger& ledger = context.history.ledger[m.caller];
  if (call != nullptr) ++ledger.answered;
  if (m.kind == Kind::kReply) {
    ledger.grant = std::max(m.credit, 1U);  // zero counts as one, or nothing could go on
    ledger.grant_frame = m.frame;
  } else {
    ledger.allowed_error = std::max(ledger.allowed_error, m.credit + ledger.answered);
  }
  ledger.allowed = std::max(ledger.allowed, ledger.grant + ledger.answered);
}

// An RDMA_DONE takes a credit, and nothing answers it. Gives whether it had one.
bool check_done_credit(const model::Message& m, const CheckContext& context) {
  const Ledger& ledger = context.history.ledger[m.sender];
  const std::uint32_t in_use = context.model.caller[m.sender].credits.in_use;
  if (ledger.grant_frame == 0 || in_use + 1 + ledger.answered <= ledger.allowed) return true;
  context.findings.add(RuleId::kFc07, credit_evidence(m, ledger, context), [&] {
    return fmt::format("RDMA_DONE sent with {} outstanding, {} granted", counted(in_use, "Call"),
                       ledger.grant);
  });
  return false;
}

}  // namespace

bool check_credits(const model::Message& m, const model::Call* call, const CheckContext& context) {
  begin_ledgers(context);
  switch (m.kind) {
    case Kind::kCall:
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
