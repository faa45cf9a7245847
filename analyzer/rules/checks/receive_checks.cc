// Finds the side that had no Receive posted: an RNR NAK has the PSN of the refused Send. The Send
// may have several packets and still be incomplete when its RNR NAK arrives.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

bool covers(const SentMessage& s, std::uint32_t psn) {
  return s.message != 0 && roce::psn_diff(psn, s.first_psn) >= 0 && roce::psn_diff(s.psn, psn) >= 0;
}

constexpr Excuse kBeyondCredit{
    "a Send for which its sender had no credit",
    "Fix the requester's accounting: its peer posts Receives only for as many Calls as it has "
    "granted."};
constexpr Excuse kTooEarly{
    "a reverse Call that the server sent before the client was ready",
    "Have the server send reverse Calls only after the client has shown that it accepts them."};

// An RDMA_DONE needs a credit as a Call does.
bool by_credit(const SentMessage& s) {
  return s.kind == Kind::kCall || s.kind == Kind::kDone;
}

// Returns null if a Receive was due for the Send.
const Excuse* excuse_of(const SentMessage& s, const CheckContext& context) {
  if (by_credit(s) && !s.within_credit) return &kBeyondCredit;
  // BI-05: a client that has not announced that it is ready is not at fault.
  const bool early = s.kind == Kind::kCall && s.reverse && !context.history.ready_for_reverse;
  return early ? &kTooEarly : nullptr;
}

void note_excused(ExcusedRnr& e, const RefusedSend& refused, const Excuse* excuse,
                  const CheckContext& context) {
  if (e.count == 0) {
    e.first_psn = refused.psn;
    e.first_frame = refused.frame;
    e.excuse = excuse;
  }
  e.count += refused.count;
  e.last_psn = refused.psn;
  e.last_frame = refused.frame;
  e.certain &= context.history.messages_unsure == nullptr;
}

// Reports the receiver as at fault, unless no Receive was due.
void judge(const SentMessage& s, int receiver, const RefusedSend& refused,
           const CheckContext& context) {
  const Excuse* const excuse = excuse_of(s, context);
  if (excuse != nullptr) {
    const auto sender = static_cast<std::size_t>(1 - receiver);
    note_excused(context.history.side[sender].excused, refused, excuse, context);
  }
  std::uint64_t& judged = context.history.side[static_cast<std::size_t>(receiver)].judged_message;
  if (judged == s.message) return;
  judged = s.message;
  if (excuse != nullptr) return;
  const RuleId rule = s.reverse ? RuleId::kBi06 : by_credit(s) ? RuleId::kFc04 : RuleId::kFc05;
  Evidence e;
  e.connection = &context.connection;
  e.side = receiver;
  e.message = s.message;
  e.frames = {s.frame, refused.frame};
  e.unsure = context.history.messages_unsure;
  context.findings.add(rule, e, [&] {
    return fmt::format("the receiver had no Receive posted for {} {} and sent an RNR NAK",
                       s.reverse ? "a reverse direction" : "a", model::kind_name(s.kind));
  });
}

}  // namespace

void check_refused(const model::Message& m, bool within_credit, const CheckContext& context) {
  SideHistory& sender = context.history.side[m.sender];
  // Each in-flight Call of either side may have one Send in flight; so may the latest answer.
  const std::size_t under_way = std::size_t{1} + context.model.caller[0].credits.in_use +
                                context.model.caller[1].credits.in_use;
  const std::size_t most = std::clamp(under_way, SideHistory::kFewestSent, SideHistory::kMostSent);
  if (sender.sent.size() < most && sender.sent_next == sender.sent.size()) {
    sender.sent.emplace_back();
  } else {
    sender.sent_next %= static_cast<std::uint32_t>(sender.sent.size());
  }
  SentMessage& s = sender.sent[sender.sent_next++];
  s = {m.first_psn, m.psn, m.psn_known ? m.id : 0, m.frame, m.kind, context.reverse, within_credit};
  if (sender.refused.frame == 0) return;
  if (covers(s, sender.refused.psn)) judge(s, 1 - m.sender, sender.refused, context);
  sender.refused = {};
}

void check_rnr(int sender, std::uint32_t psn, std::uint64_t frame, const CheckContext& context) {
  SideHistory& refused = context.history.side[static_cast<std::size_t>(1 - sender)];
  for (const SentMessage& s : refused.sent) {
    if (covers(s, psn)) return judge(s, sender, {psn, frame, 1}, context);
  }
  const bool again = refused.refused.frame != 0 && refused.refused.psn == psn;
  refused.refused = {psn, frame, again ? refused.refused.count + 1 : 1};
}

}  // namespace rpcrdma::rules
