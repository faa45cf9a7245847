#include <rpcrdma/service/callback.h>

namespace rpcrdma::service::callback {
namespace {

// RPC header of an accepted Reply with AUTH_NONE's verifier, and callback_result.
constexpr std::uint32_t kLongestReply = 24 + 20;

CallHeader header(Proc proc) {
  return {kProgram, kVersion, static_cast<std::uint32_t>(proc)};
}

}  // namespace

const char* status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "OK";
    case Status::kNoSession:
      return "no such session";
    case Status::kRefused:
      return "refused: no credits in the reverse direction";
    case Status::kTooMany:
      return "refused: the server's limit of sessions is reached, in total or for this client";
  }
  return "?";
}

CallbackCall::CallbackCall()
    : headers_{header(Proc::kStart), header(Proc::kWait), header(Proc::kEnd), header(Proc::kStop)} {
}

protocol::CallSpec CallbackCall::spec(Proc proc, wire::Bytes arguments) {
  pieces_[0] = headers_[static_cast<std::size_t>(proc) - 1].piece();
  pieces_[1] = {arguments, nullptr, false};
  protocol::CallSpec spec;
  spec.message = pieces_;
  spec.max_reply = kLongestReply;
  return spec;
}

protocol::CallSpec CallbackCall::start(const Plan& plan) {
  wire::XdrWriter writer(arguments_);
  const echo::Request& r = plan.request;
  writer.u64(plan.session);
  for (const std::uint32_t word :
       {plan.count, static_cast<std::uint32_t>(r.proc), r.length, r.count, r.sleep, plan.depth}) {
    writer.u32(word);
  }
  return spec(Proc::kStart, wire::Bytes(arguments_).first(writer.size()));
}

protocol::CallSpec CallbackCall::of_session(Proc proc, std::uint64_t session) {
  wire::XdrWriter writer(arguments_);
  writer.u64(session);
  return spec(proc, wire::Bytes(arguments_).first(writer.size()));
}

protocol::CallSpec CallbackCall::wait(std::uint64_t session) {
  return of_session(Proc::kWait, session);
}

protocol::CallSpec CallbackCall::end(std::uint64_t session) {
  return of_session(Proc::kEnd, session);
}

protocol::CallSpec CallbackCall::stop(std::uint64_t session) {
  return of_session(Proc::kStop, session);
}

std::optional<Result> CallbackCall::read(const protocol::CallOutcome& outcome, Proc proc) {
  ReplyReader reply(outcome);
  if (reply.status() != RpcStatus::kSuccess) return std::nullopt;
  protocol::StreamReader& results = reply.results();
  Result result;
  const std::uint32_t status = results.u32();
  result.status = static_cast<Status>(status);
  if (proc == Proc::kWait) {
    result.right = results.u32();
    result.wrong = results.u32();
    result.failed = results.u32();
    result.resent = results.u32();
  }
  if (!results.ok() || !results.at_end() || status > static_cast<std::uint32_t>(Status::kTooMany)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace rpcrdma::service::callback
