// Calls that a lost connection left unanswered, and what becomes of them on the next one.
#include "checks.h"
#include "first_call.h"

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

bool whole(const roce::Connection& c) {
  return model::losses(c) == 0 && roce::both_directions_seen(c);
}

// The RPC server opened a connection, to send a reverse Call again on it.
void check_opened_by_server(const model::Call& call, const LostCall& lost, const Scene& scene) {
  const roce::Connection& c = scene.connection;
  if (!lost.reverse || call.message.sender != 0 || c.setup != roce::Setup::kCm) return;
  Evidence e = evidence(call.message, c, 0);
  e.frames = {lost.frame, call.message.frame};
  scene.findings.add(RuleId::kBi07, e, [&] {
    return fmt::format("reverse Call {:#010x} sent again on a connection that its sender opened",
                       call.message.xid);
  });
}

}  // namespace

void check_sent_again(const model::Call& call, bool known_again, const Scene& scene) {
  Past* past = scene.all.past(scene.connection, scene.history);
  if (past == nullptr || past->lost.empty()) return;
  const roce::Connection& c = scene.connection;
  const std::size_t sender = call.message.sender;
  const auto lost = past->lost.called(
      first_call(call, !scene.reverse), known_again,
      {c.index, c.first_ns, c.side[sender].address, scene.history.may_be_again[sender]});
  if (lost && lost->digest == call.digest) check_opened_by_server(call, *lost, scene);
}

void remember_lost_call(const model::Call& call, const Scene& scene) {
  if (call.ending != model::Ending::kClosed || call.digest == 0 || call.message.suspect) return;
  if (!whole(scene.connection) || ends_with_capture(scene.connection)) return;
  LostCall lost;
  lost.lost_ns = scene.connection.last_ns;
  lost.caller = scene.connection.side[call.message.sender].address;
  lost.responder = scene.connection.side[1 - call.message.sender].address;
  lost.xid = call.message.xid;
  lost.digest = call.digest;
  lost.reverse = scene.reverse;
  lost.frame = call.message.frame;
  scene.all.make_past(scene.connection).lost.add(lost);
}

Evidence renamed_evidence(const Scene& scene) {
  Evidence e;
  e.connection = &scene.connection;
  e.topic = kRenamedTopic;
  e.at_most = kRenamedAtMost;
  e.unsure = scene.history.messages_unsure;
  return e;
}

void check_reconnect_end(const Scene& scene) {
  const roce::Connection& c = scene.connection;
  if (Past* past = scene.all.past(c, scene.history)) {
    for (const LostCall& lost : past->lost.take_renamed(c.index)) {
      const SentAgain told = renamed(lost);
      Evidence e = renamed_evidence(scene);
      e.side = c.side[0].address == lost.caller ? 0 : 1;
      e.message = lost.again_message;
      e.frames = told.frames;
      scene.findings.add(told.rule, e, [&] { return told.text; });
    }
  }
  if (c.setup != roce::Setup::kCm || !scene.history.begun) return;
  Past& past = scene.all.make_past(c);
  past.end_ns = c.last_ns;
  for (std::size_t side = 0; side < 2; ++side) {
    const Ledger& ledger = scene.history.ledger[side];
    past.limit[History::place(c, side)] = send_limit(side, scene);
    past.grant[History::place(c, side)] = ledger.grant_frame != 0 ? ledger.grant : 0;
  }
}

void pass_over_lost_calls(const Scene& scene) {
  const roce::Connection& c = scene.connection;
  const int client = scene.model.client;
  Past* past = scene.all.past(c, scene.history);
  if (past == nullptr || client < 0) return;
  const auto side = static_cast<std::size_t>(client);
  past->lost.pass_over(c.side[side].address, c.side[1 - side].address, c.first_ns);
}

}  // namespace rpcrdma::rules
