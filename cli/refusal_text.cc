#include "refusal_text.h"

#include <fmt/core.h>

#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::cli {

namespace {

namespace echo = service::echo;
using protocol::CallStatus;
using service::RpcStatus;

// The arguments may travel in a Read chunk, which the server limits.
bool sends_bulk(const echo::Request& request) {
  return request.proc == echo::Proc::kSink || request.proc == echo::Proc::kEchoBulk;
}

// The protocol does not say which limit was exceeded, so this is advice. Empty: none.
std::string advice(const echo::EchoCall& call, const protocol::CallOutcome& outcome,
                   RpcStatus status) {
  if (outcome.status == CallStatus::kErrorVersion) {
    for (const std::uint32_t version : {protocol::kVersionOne, protocol::kVersionTwo}) {
      if (outcome.vers_low <= version && version <= outcome.vers_high) {
        return fmt::format("; give --rdma-version {}", version);
      }
    }
  }
  if (outcome.status == CallStatus::kErrorChunk && sends_bulk(call.request())) {
    return "; the server refuses Read chunks above its --max-bulk (16Mi by default)";
  }
  if (status == RpcStatus::kSystemErr) {
    return "; the server may have no memory for data of this size: lower --size or --depth, or "
           "raise its --max-bulk";
  }
  if (status == RpcStatus::kGarbageArgs) {
    return "; the server could not decode the arguments, or they exceed its limits";
  }
  return {};
}

}  // namespace

std::string refusal_text(echo::Verdict verdict, const echo::EchoCall& call,
                         const protocol::CallOutcome& outcome) {
  if (verdict == echo::Verdict::kRpcError) {
    const service::ReplyReader reply(outcome);
    return service::describe(outcome, reply) + advice(call, outcome, reply.status());
  }
  const std::string name = echo::verdict_name(verdict);
  if (verdict != echo::Verdict::kStatus || !call.status()) return name;
  switch (*call.status()) {
    case echo::Status::kTooLong:
      return name + ": the result would be longer than its --max-bulk (16Mi by default)";
    case echo::Status::kCorrupt:
      return name + ": the checksum of the arguments is wrong";
    case echo::Status::kOk:
      break;
  }
  return name;
}

}  // namespace rpcrdma::cli
