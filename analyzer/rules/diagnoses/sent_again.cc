// Recognises resent Calls of an earlier connection, by XID or by content.
#include "checks/lists.h"
#include "durations.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

namespace {

// Linux waits at most half a minute before it reconnects.
constexpr std::int64_t kSentAgainWithin = 30'000'000'000;

// Returns null if the Call is not in the list.
const Departed::Call* find(const std::vector<Departed::Call>& list, const FirstCall& call) {
  const std::uint64_t digest = call.varies ? 0 : call.digest;
  const auto it = std::find_if(list.begin(), list.end(), [&](const Departed::Call& c) {
    if (c.xid != call.xid || c.program != call.program || c.procedure != call.procedure)
      return false;
    return c.digest == digest || c.digest == 0 || digest == 0;
  });
  return it == list.end() ? nullptr : &*it;
}

// Returns whether the connection that lost the Call ended before this one began, and not long
// before the new Call.
bool lost_before(const LostCall& lost, const FirstCall& call, std::int64_t first_ns) {
  return lost.lost_ns <= first_ns && call.time_ns - lost.lost_ns <= kSentAgainWithin;
}

}  // namespace

void Successor::Taken::add(const FirstCall& call) {
  if (calls++ == 0) {
    first_frame = call.frame;
    first_xid = call.xid;
  }
  last_frame = call.frame;
}

bool Successor::called(const FirstCall& call) {
  if (++calls_ > kFirstCalls) return false;
  if (calls_ == 1) first_ns_ = call.time_ns;
  if (!predecessor_) return false;
  if (find(predecessor_->unanswered, call) != nullptr) {
    again_.add(call);
    return true;
  }
  if (!predecessor_->answered_matter()) return false;
  const Departed::Call* const answered = find(predecessor_->answered, call);
  if (answered == nullptr) return false;
  answered_twice_.add(call);
  answered_twice_.acknowledged += answered->acknowledged ? 1 : 0;
  return true;
}

bool Successor::awaits_more() const {
  return looks() && again_.calls < predecessor_->unanswered.size();
}

std::vector<SentAgain> Successor::reported() const {
  std::vector<SentAgain> list;
  if (again_.calls != 0) {
    list.push_back(
        {RuleId::kReconnect,
         {again_.first_frame, again_.last_frame},
         fmt::format("the requester resent {} that {} unanswered on the previous connection, from "
                     "XID {:#010x} on, {} after the end of that connection",
                     counted(again_.calls, "Call"), again_.calls == 1 ? "was" : "were",
                     again_.first_xid, duration(first_ns_ - predecessor_->end_ns))});
  }
  if (answered_twice_.calls != 0) {
    const bool one = answered_twice_.calls == 1;
    list.push_back(
        {RuleId::kAnsweredTwice,
         {answered_twice_.first_frame, answered_twice_.last_frame},
         fmt::format("the requester resent {} that {} answered on the previous connection, from "
                     "XID {:#010x} on",
                     counted(answered_twice_.calls, "Call"), one ? "was" : "were",
                     answered_twice_.first_xid),
         answered_twice_.acknowledged != 0
             ? "Find out why the requester resends the Call: it has acknowledged the Reply. If the "
               "responder has no reply cache, procedures that are not idempotent ran twice."
             : nullptr});
  }
  return list;
}

void LostCalls::add(const LostCall& call) {
  if (calls_.size() >= kLostCalls) calls_.erase(calls_.begin());
  calls_.push_back(call);
}

// Requesters resend in-flight Calls before they send new ones: only as many Calls as were lost may
// be resent ones. Returns whether this Call may be one of them.
bool LostCalls::may_be_again(const FirstCall& call, const Caller& caller) const {
  std::optional<std::size_t>& left = caller.may_be_again;
  if (!left) {
    left = static_cast<std::size_t>(
        std::count_if(calls_.begin(), calls_.end(), [&](const LostCall& lost) {
          return lost.caller == caller.address && lost_before(lost, call, caller.first_ns);
        }));
  }
  const bool is_null = call.known && call.procedure == 0;
  if (is_null || *left == 0) return false;
  --*left;
  return true;
}

std::optional<LostCall> LostCalls::called(const FirstCall& call, bool known_again,
                                          const Caller& caller) {
  if (calls_.empty()) return std::nullopt;
  const bool may_be = may_be_again(call, caller);
  if (call.digest == 0) return std::nullopt;
  for (auto lost = calls_.begin(); lost != calls_.end(); ++lost) {
    if (lost->lost_ns > caller.first_ns) continue;  // on a connection in parallel to this one
    if (lost->xid != call.xid || !(lost->caller == caller.address)) continue;
    const LostCall came = *lost;
    calls_.erase(lost);
    return came;
  }
  if (!may_be || known_again) return std::nullopt;
  for (LostCall& lost : calls_) {
    if (!lost_before(lost, call, caller.first_ns)) continue;
    if (lost.digest != call.digest || !(lost.caller == caller.address) || lost.again_frame != 0)
      continue;
    lost.again_frame = call.frame;
    lost.again_message = call.message;
    lost.again_xid = call.xid;
    lost.again_connection = caller.connection;
    lost.again_left_out = call.left_out;
    break;
  }
  return std::nullopt;
}

std::vector<LostCall> LostCalls::take_renamed(std::uint32_t connection) {
  std::vector<LostCall> taken;
  std::erase_if(calls_, [&](const LostCall& lost) {
    if (lost.again_frame == 0 || lost.again_connection != connection) return false;
    taken.push_back(lost);
    return true;
  });
  return taken;
}

void LostCalls::pass_over(const capture::Address& client, const capture::Address& server,
                          std::int64_t first_ns) {
  std::erase_if(calls_, [&](const LostCall& lost) {
    return lost.again_frame == 0 && lost.lost_ns <= first_ns &&
           (lost.reverse ? lost.responder : lost.caller) == client &&
           (lost.reverse ? lost.caller : lost.responder) == server;
  });
}

SentAgain renamed(const LostCall& call) {
  return {RuleId::kFc08,
          {call.frame, call.again_frame},
          fmt::format("the requester did not resend Call {:#010x} of the previous connection, but "
                      "sent one with the same content as {:#010x}",
                      call.xid, call.again_xid)};
}

}  // namespace rpcrdma::rules
