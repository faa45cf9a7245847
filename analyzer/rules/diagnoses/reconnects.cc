#include "reconnects.h"

#include "first_calls.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

void Succession::ended(const model::Call& call, const model::Message* answer) {
  const model::Message& m = call.message;
  if (!m.rpc.known) return;
  if (!own_) own_ = std::make_unique<Departed>();
  const FirstCall as_sent = first_call(call, true);
  Departed::Call entry{m.xid, m.rpc.program, m.rpc.procedure, as_sent.varies ? 0 : as_sent.digest};
  if (answer != nullptr) {
    entry.reply_psn = answer->psn;
    entry.reply_psn_known = answer->psn_known;
  }
  if (answer == nullptr) {
    if (call.ending == model::Ending::kClosed && own_->unanswered.size() < kUnanswered) {
      own_->unanswered.push_back(entry);
    }
  } else if (own_->answered.size() < kAnswered) {
    own_->answered.push_back(entry);
  } else {
    own_->answered[own_->oldest] = entry;
    own_->oldest = (own_->oldest + 1) % kAnswered;
  }
}

bool Succession::called(const FirstCall& call, const roce::Connection& connection, int client,
                        const std::deque<std::shared_ptr<const Departed>>& before) {
  if (begins()) {
    const auto c = static_cast<std::size_t>(client);
    const auto same = [&](const std::shared_ptr<const Departed>& d) {
      return d->address[0] == connection.side[c].address &&
             d->address[1] == connection.side[1 - c].address;
    };
    const auto it = std::find_if(before.rbegin(), before.rend(), same);
    if (it != before.rend()) successor_.follow(*it);
  }
  return successor_.called(call);
}

void Succession::report(Findings& findings, const roce::Connection& connection) const {
  Evidence e;
  e.connection = &connection;
  for (const SentAgain& reported : successor_.reported()) {
    e.frames = reported.frames;
    findings.add(
        reported.rule, e, [&] { return reported.text; }, reported.advice);
  }
}

std::shared_ptr<const Departed> Succession::depart(const roce::Connection& connection, int client,
                                                   bool broken) {
  if (!own_ || client < 0) return nullptr;
  const auto c = static_cast<std::size_t>(client);
  own_->broken = broken;
  own_->end_ns = connection.last_ns;
  own_->address = {connection.side[c].address, connection.side[1 - c].address};
  if (!own_->answered_matter()) own_->answered.clear();
  const roce::Side& server = connection.side[1 - c];
  for (Departed::Call& call : own_->answered) {
    call.acknowledged = call.reply_psn_known && server.acked_known &&
                        roce::psn_diff(server.acked_psn, call.reply_psn) >= 0;
  }
  return std::shared_ptr<const Departed>(std::move(own_));
}

}  // namespace rpcrdma::rules
