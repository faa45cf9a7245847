#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/reverse_load.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::load {

using service::callback::CallbackCall;
using service::callback::Status;

ReverseLoad::ReverseLoad(const ReversePlan& plan, std::uint32_t connections, std::uint64_t seed)
    : timeout_(plan.timeout), sessions_(connections) {
  soft::Random random(seed);
  for (std::uint32_t i = 0; i < connections; ++i) {
    service::callback::Plan& p = sessions_[i].plan;
    // Other clients choose names as well.
    p.session = random.next() ^ static_cast<std::uint64_t>(service::Loop::read_clock());
    const std::uint64_t share = plan.count / connections + (i < plan.count % connections ? 1 : 0);
    p.count = plan.count == 0
                  ? UINT32_MAX
                  : static_cast<std::uint32_t>(std::min<std::uint64_t>(share, UINT32_MAX));
    p.request = plan.request;
    p.depth = plan.depth;
    if (p.count == 0) sessions_[i].state = State::kOver;  // fewer Calls than connections
  }
}

void ReverseLoad::call(service::Client& client, std::uint32_t connection, protocol::CallSpec spec,
                       service::callback::Proc proc) {
  spec.cookie = kCookie | std::uint64_t{connection} << 8U | static_cast<std::uint64_t>(proc);
  // kWait is answered when the reverse Calls are over: see expire().
  if (proc != service::callback::Proc::kWait) spec.timeout = timeout_;
  const auto made = client.call_on(connection, spec);
  if (!made) fail(made.error().message);
}

void ReverseLoad::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

void ReverseLoad::on_connected(service::Client& client, std::uint32_t connection) {
  Session& s = sessions_[connection];
  if (s.state == State::kEnding || s.state == State::kOver) return;
  // A start without an answer is resent by itself, before the Call that waits.
  if (s.starting) return;
  const bool again = std::exchange(s.state, State::kAsked) == State::kAsked;
  if (again) s.plan.count = 0;
  protocol::CallSpec start = s.start.start(s.plan);
  // The Call that waits is resent, too, and answered only after this one has run: it must not use a
  // new connection's only credit first.
  start.first = true;
  s.starting = true;
  call(client, connection, start, service::callback::Proc::kStart);
  if (!again) call(client, connection, s.wait.wait(s.plan.session), service::callback::Proc::kWait);
}

void ReverseLoad::on_outcome(service::Client& client, const protocol::CallOutcome& outcome) {
  const auto connection = static_cast<std::uint32_t>((outcome.cookie & ~kCookie) >> 8U);
  const auto proc = static_cast<service::callback::Proc>(outcome.cookie & 0xff);
  Session& s = sessions_[connection];
  if (proc == service::callback::Proc::kStart) {
    s.starting = false;
    progress_ = std::max(progress_, outcome.times.ended);
  }
  if (outcome.status == protocol::CallStatus::kClosed) return;
  const auto result = CallbackCall::read(outcome, proc);
  if (!result) {
    const service::ReplyReader reply(outcome);
    return fail(
        fmt::format("the server makes no reverse Calls: {}", service::describe(outcome, reply)));
  }
  const bool ended = proc == service::callback::Proc::kEnd && result->status == Status::kNoSession;
  if (result->status == Status::kNoSession && !ended) {
    return fail(
        "the server no longer has this session: the server was restarted, or the session had no "
        "connection for too long");
  }
  if (result->status != Status::kOk && !ended) return fail(status_name(result->status));
  if (proc == service::callback::Proc::kEnd) s.state = State::kOver;
  if (proc != service::callback::Proc::kWait) return;
  s.result = *result;
  s.state = State::kEnding;
  call(client, connection, s.stop.end(s.plan.session), service::callback::Proc::kEnd);
}

void ReverseLoad::stop(service::Client& client) {
  for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
    Session& s = sessions_[i];
    if (s.state == State::kAsked)
      call(client, i, s.stop.stop(s.plan.session), service::callback::Proc::kStop);
  }
}

void ReverseLoad::expire(std::uint64_t served, fabric::Time now) {
  if (std::exchange(served_, served) != served || progress_ == 0) progress_ = now;
  if (now < deadline()) return;
  fail(fmt::format("the server has made no reverse Call for {}, and has not reported the end",
                   base::format_duration(timeout_)));
}

fabric::Time ReverseLoad::deadline() const {
  const bool waits = std::ranges::any_of(
      sessions_, [](const Session& s) { return s.state == State::kAsked && !s.starting; });
  return waits && timeout_ < fabric::kNever - progress_ ? progress_ + timeout_ : fabric::kNever;
}

bool ReverseLoad::over() const {
  return std::ranges::all_of(sessions_, [](const Session& s) { return s.state == State::kOver; });
}

service::callback::Result ReverseLoad::result() const {
  service::callback::Result sum;
  for (const Session& s : sessions_) {
    sum.right += s.result.right;
    sum.wrong += s.result.wrong;
    sum.failed += s.result.failed;
    sum.resent += s.result.resent;
  }
  return sum;
}

}  // namespace rpcrdma::load
