// Checks Calls that a lost connection left unanswered, and how the next connection resends them.
#include "../diagnoses/first_calls.h"
#include "checks.h"

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

bool whole(const roce::Connection& c) {
  return model::losses(c) == 0 && roce::both_directions_seen(c);
}

// Checks that the RPC server did not open the connection on which it resends a reverse Call.
void check_opened_by_server(const model::Call& call, const LostCall& lost,
                            const CheckContext& context) {
  const roce::Connection& c = context.connection;
  if (!lost.reverse || call.message.sender != 0 || c.setup != roce::Setup::kCm) return;
  Evidence e = evidence(call.message, c, 0);
  e.frames = {lost.frame, call.message.frame};
  context.findings.add(RuleId::kBi07, e, [&] {
    return fmt::format("the server resent reverse Call {:#010x} on a connection that it opened",
                       call.message.xid);
  });
}

}  // namespace

void check_sent_again(const model::Call& call, bool known_again, const CheckContext& context) {
  Past* past = context.all.past(context.connection, context.history);
  if (past == nullptr || past->lost.empty()) return;
  const roce::Connection& c = context.connection;
  const std::size_t sender = call.message.sender;
  const auto lost = past->lost.called(
      first_call(call, !context.reverse), known_again,
      {c.index, c.first_ns, c.side[sender].address, context.history.may_be_again[sender]});
  if (lost && lost->digest == call.digest) check_opened_by_server(call, *lost, context);
}

void remember_lost_call(const model::Call& call, const CheckContext& context) {
  if (call.ending != model::Ending::kClosed || call.digest == 0 || call.message.suspect) return;
  if (!whole(context.connection) || ends_with_capture(context.connection)) return;
  LostCall lost;
  lost.lost_ns = context.connection.last_ns;
  lost.caller = context.connection.side[call.message.sender].address;
  lost.responder = context.connection.side[1 - call.message.sender].address;
  lost.xid = call.message.xid;
  lost.digest = call.digest;
  lost.reverse = context.reverse;
  lost.frame = call.message.frame;
  context.all.make_past(context.connection).lost.add(lost);
}

Evidence renamed_evidence(const CheckContext& context) {
  Evidence e;
  e.connection = &context.connection;
  e.topic = kRenamedTopic;
  e.at_most = kRenamedAtMost;
  e.unsure = context.history.messages_unsure;
  return e;
}

void check_reconnect_end(const CheckContext& context) {
  const roce::Connection& c = context.connection;
  if (Past* past = context.all.past(c, context.history)) {
    for (const LostCall& lost : past->lost.take_renamed(c.index)) {
      const SentAgain reported = renamed(lost);
      Evidence e = renamed_evidence(context);
      e.side = c.side[0].address == lost.caller ? 0 : 1;
      e.message = lost.again_message;
      e.frames = reported.frames;
      context.findings.add(reported.rule, e, [&] { return reported.text; });
    }
  }
  if (c.setup != roce::Setup::kCm || !context.history.begun) return;
  Past& past = context.all.make_past(c);
  past.end_ns = c.last_ns;
  for (std::size_t side = 0; side < 2; ++side) {
    const Ledger& ledger = context.history.ledger[side];
    past.limit[History::place(c, side)] = send_limit(side, context);
    past.grant[History::place(c, side)] = ledger.grant_frame != 0 ? ledger.grant : 0;
  }
}

void pass_over_lost_calls(const CheckContext& context) {
  const roce::Connection& c = context.connection;
  const int client = context.model.client;
  Past* past = context.all.past(c, context.history);
  if (past == nullptr || client < 0) return;
  const auto side = static_cast<std::size_t>(client);
  past->lost.pass_over(c.side[side].address, c.side[1 - side].address, c.first_ns);
}

}  // namespace rpcrdma::rules
