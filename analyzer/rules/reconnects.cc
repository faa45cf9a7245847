#include "reconnects.h"

#include "durations.h"
#include "lists.h"

#include <algorithm>

namespace rpcrdma::rules {

namespace {

constexpr std::size_t kUnanswered = 128;
constexpr std::size_t kAnswered = 32;
// A requester sends again what was outstanding before it does much else.
constexpr std::uint64_t kFirstCalls = 256;

bool contains(const std::vector<Departed::Call>& list, const model::Message& m) {
  return std::any_of(list.begin(), list.end(), [&](const Departed::Call& c) {
    return c.xid == m.xid && c.program == m.rpc.program && c.procedure == m.rpc.procedure;
  });
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
  const Departed::Call entry{m.xid, m.rpc.program, m.rpc.procedure};
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

void Succession::called(const model::Message& call, const roce::Connection& connection, int client,
                        const std::deque<std::shared_ptr<const Departed>>& before) {
  if (++calls_ > kFirstCalls) return;
  if (calls_ == 1) {
    first_ns_ = call.time_ns;
    const auto c = static_cast<std::size_t>(client);
    const auto same = [&](const std::shared_ptr<const Departed>& d) {
      return d->address[0] == connection.side[c].address &&
             d->address[1] == connection.side[1 - c].address;
    };
    const auto it = std::find_if(before.rbegin(), before.rend(), same);
    if (it != before.rend()) predecessor_ = *it;
  }
  if (!predecessor_) return;
  if (contains(predecessor_->unanswered, call)) {
    again_.add(call);
  } else if ((predecessor_->broken || !predecessor_->unanswered.empty()) &&
             contains(predecessor_->answered, call)) {
    // After an orderly end the same XID is a requester's that counts from the start again.
    answered_twice_.add(call);
  }
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
    findings.add(RuleId::kAnsweredTwice, e, [&] {
      return fmt::format("{} that had {} on connection {} {} sent again here, from XID {:#010x} on",
                         counted(answered_twice_.calls, "Call"),
                         answered_twice_.calls == 1 ? "its Reply" : "their Replies",
                         predecessor_->connection + 1, answered_twice_.calls == 1 ? "was" : "were",
                         answered_twice_.first_xid);
    });
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
  return std::shared_ptr<const Departed>(std::move(own_));
}

}  // namespace rpcrdma::rules
