#include "reconnects.h"

#include "durations.h"
#include "lists.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

namespace {

constexpr std::size_t kUnanswered = 128;
constexpr std::size_t kAnswered = 32;
// A requester sends again what was outstanding before it does much else.
constexpr std::uint64_t kFirstCalls = 256;

// Of RPCSEC_GSS each Call has a sequence number of its own, even one that is sent again.
std::uint64_t lasting_digest(const model::Call& call) {
  constexpr auto kGss = static_cast<std::uint32_t>(wire::AuthFlavor::kRpcsecGss);
  return call.message.suspect || call.message.rpc.cred_flavor == kGss ? 0 : call.digest;
}

// Null when it is none of the list.
const Departed::Call* find(const std::vector<Departed::Call>& list, const model::Call& call) {
  const model::Message& m = call.message;
  const std::uint64_t digest = lasting_digest(call);
  const auto it = std::find_if(list.begin(), list.end(), [&](const Departed::Call& c) {
    if (c.xid != m.xid || c.program != m.rpc.program || c.procedure != m.rpc.procedure)
      return false;
    return c.digest == digest || c.digest == 0 || digest == 0;
  });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

void Succession::Taken::add(const model::Message& call) {
  if (calls++ == 0) {
    first_frame = call.frame;
    first_xid = call.xid;
  }
  last_frame = call.frame;
}

void Succession::ended(const model::Call& call, const model::Message* answer) {
  const model::Message& m = call.message;
  if (!m.rpc.known) return;
  if (!own_) own_ = std::make_unique<Departed>();
  Departed::Call entry{m.xid, m.rpc.program, m.rpc.procedure, lasting_digest(call)};
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

bool Succession::called(const model::Call& call, const roce::Connection& connection, int client,
                        const std::deque<std::shared_ptr<const Departed>>& before) {
  if (++calls_ > kFirstCalls) return false;
  if (calls_ == 1) {
    first_ns_ = call.message.time_ns;
    const auto c = static_cast<std::size_t>(client);
    const auto same = [&](const std::shared_ptr<const Departed>& d) {
      return d->address[0] == connection.side[c].address &&
             d->address[1] == connection.side[1 - c].address;
    };
    const auto it = std::find_if(before.rbegin(), before.rend(), same);
    if (it != before.rend()) predecessor_ = *it;
  }
  if (!predecessor_) return false;
  if (find(predecessor_->unanswered, call) != nullptr) {
    again_.add(call.message);
    return true;
  }
  // After an orderly end the same XID is a requester's that counts from the start again.
  if (!predecessor_->broken && predecessor_->unanswered.empty()) return false;
  const Departed::Call* const answered = find(predecessor_->answered, call);
  if (answered == nullptr) return false;
  answered_twice_.add(call.message);
  answered_twice_.acknowledged += answered->acknowledged ? 1 : 0;
  return true;
}

void Succession::tell(Findings& findings, const roce::Connection& connection) const {
  if (!predecessor_) return;
  Evidence e;
  e.connection = &connection;
  if (again_.calls != 0) {
    e.frames = {again_.first_frame, again_.last_frame};
    findings.add(RuleId::kReconnect, e, [&] {
      return fmt::format(
          "{} that connection {} left without an answer {} sent again here, from XID {:#010x} on, "
          "{} "
          "after its end",
          counted(again_.calls, "Call"), predecessor_->connection + 1,
          again_.calls == 1 ? "was" : "were", again_.first_xid,
          duration(first_ns_ - predecessor_->end_ns));
    });
  }
  if (answered_twice_.calls != 0) {
    e.frames = {answered_twice_.first_frame, answered_twice_.last_frame};
    findings.add(
        RuleId::kAnsweredTwice, e,
        [&] {
          return fmt::format(
              "{} that had {} on connection {} {} sent again here, from XID {:#010x} on",
              counted(answered_twice_.calls, "Call"),
              answered_twice_.calls == 1 ? "its Reply" : "their Replies",
              predecessor_->connection + 1, answered_twice_.calls == 1 ? "was" : "were",
              answered_twice_.first_xid);
        },
        answered_twice_.acknowledged != 0
            ? "The requester has acknowledged the Reply: look there why it asks again. If the "
              "responder has no reply cache, procedures that are not idempotent ran twice."
            : nullptr);
  }
}

std::shared_ptr<const Departed> Succession::depart(const roce::Connection& connection, int client,
                                                   bool broken) {
  if (!own_ || client < 0) return nullptr;
  const auto c = static_cast<std::size_t>(client);
  own_->connection = connection.index;
  own_->broken = broken;
  own_->end_ns = connection.last_ns;
  own_->address = {connection.side[c].address, connection.side[1 - c].address};
  const roce::Side& server = connection.side[1 - c];
  for (Departed::Call& call : own_->answered) {
    call.acknowledged = call.reply_psn_known && server.acked_known &&
                        roce::psn_diff(server.acked_psn, call.reply_psn) >= 0;
  }
  return std::shared_ptr<const Departed>(std::move(own_));
}

}  // namespace rpcrdma::rules
