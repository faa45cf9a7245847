// Calls that a lost connection left unanswered, and what becomes of them on the next one.
#include "checks.h"

#include <algorithm>

#include <fmt/format.h>

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

bool is_null(const model::Call& call) {
  return call.message.rpc.known && call.message.rpc.procedure == 0;
}

// Linux lets half a minute pass at most before it tries again to reconnect.
constexpr std::int64_t kSentAgainWithin = 30'000'000'000;

// The connection that lost it ended before this one began, and not long before the Call.
bool lost_before(const LostCall& lost, const model::Call& call, const Scene& scene) {
  return lost.lost_ns <= scene.connection.first_ns &&
         call.message.time_ns - lost.lost_ns <= kSentAgainWithin;
}

// What was outstanding is sent again before anything new is: as many Calls as were lost may be
// ones sent again. Gives whether this is among them.
bool may_be_again(const model::Call& call, const Past& past, const capture::Address& caller,
                  const Scene& scene) {
  auto& left = scene.history.may_be_again[call.message.sender];
  if (!left) {
    left = static_cast<std::size_t>(
        std::count_if(past.lost.begin(), past.lost.end(), [&](const LostCall& lost) {
          return lost.caller == caller && lost_before(lost, call, scene);
        }));
  }
  if (is_null(call) || *left == 0) return false;
  --*left;
  return true;
}

}  // namespace

void check_sent_again(const model::Call& call, bool known_again, const Scene& scene) {
  Past* past = scene.all.past(scene.connection, scene.history);
  if (past == nullptr || past->lost.empty()) return;
  const capture::Address& caller = scene.connection.side[call.message.sender].address;
  const bool may_be = may_be_again(call, *past, caller, scene);
  if (call.digest == 0) return;
  for (auto lost = past->lost.begin(); lost != past->lost.end(); ++lost) {
    if (lost->lost_ns > scene.connection.first_ns) continue;  // on another connection beside it
    if (lost->xid != call.message.xid || !(lost->caller == caller)) continue;
    if (lost->digest == call.digest) check_opened_by_server(call, *lost, scene);
    past->lost.erase(lost);
    return;
  }
  if (!may_be || known_again) return;
  for (LostCall& lost : past->lost) {
    if (!lost_before(lost, call, scene)) continue;
    if (lost.digest != call.digest || !(lost.caller == caller) || lost.again_frame != 0) continue;
    lost.again_frame = call.message.frame;
    lost.again_message = call.message.id;
    lost.again_xid = call.message.xid;
    lost.again_connection = scene.connection.index;
    return;
  }
}

void remember_lost_call(const model::Call& call, const Scene& scene) {
  if (call.ending != model::Ending::kClosed || call.digest == 0 || call.message.suspect) return;
  if (!whole(scene.connection)) return;
  Past& past = scene.all.make_past(scene.connection);
  if (past.lost.size() >= Past::kLostCalls) past.lost.erase(past.lost.begin());
  LostCall& lost = past.lost.emplace_back();
  lost.lost_ns = scene.connection.last_ns;
  lost.caller = scene.connection.side[call.message.sender].address;
  lost.xid = call.message.xid;
  lost.digest = call.digest;
  lost.reverse = scene.reverse;
  lost.frame = call.message.frame;
}

// Only now is it certain that the old XID does not come any more.
void check_reconnect_end(const Scene& scene) {
  const roce::Connection& c = scene.connection;
  if (Past* past = scene.all.past(c, scene.history)) {
    std::erase_if(past->lost, [&](const LostCall& lost) {
      if (lost.again_frame == 0 || lost.again_connection != c.index) return false;
      Evidence e;
      e.connection = &c;
      e.side = c.side[0].address == lost.caller ? 0 : 1;
      e.message = lost.again_message;
      e.frames = {lost.frame, lost.again_frame};
      e.topic = 1;
      e.at_most = Level::kWarning;  // it may be another Call with the same content
      e.unsure = scene.history.messages_unsure;
      scene.findings.add(RuleId::kFc08, e, [&] {
        return fmt::format(
            "Call {:#010x} of the connection before was not sent again; one with the same content "
            "was sent as {:#010x}",
            lost.xid, lost.again_xid);
      });
      return true;
    });
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

}  // namespace rpcrdma::rules
