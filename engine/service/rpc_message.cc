// Encodes the headers of Calls, and decodes and describes Replies.
#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::service {
namespace {

constexpr std::size_t kMaxMachine = 255;
constexpr std::size_t kMaxGids = 16;

RpcStatus status_of(const wire::RpcReply& reply) {
  if (reply.stat == wire::ReplyStat::kDenied) {
    return reply.reject == wire::RejectStat::kRpcMismatch ? RpcStatus::kRpcMismatch
                                                          : RpcStatus::kAuthError;
  }
  switch (reply.accept) {
    case wire::AcceptStat::kSuccess:
      return RpcStatus::kSuccess;
    case wire::AcceptStat::kProgUnavail:
      return RpcStatus::kProgUnavail;
    case wire::AcceptStat::kProgMismatch:
      return RpcStatus::kProgMismatch;
    case wire::AcceptStat::kProcUnavail:
      return RpcStatus::kProcUnavail;
    case wire::AcceptStat::kGarbageArgs:
      return RpcStatus::kGarbageArgs;
    case wire::AcceptStat::kSystemErr:
      return RpcStatus::kSystemErr;
  }
  return RpcStatus::kMalformed;
}

}  // namespace

CallHeader::CallHeader(std::uint32_t program, std::uint32_t version, std::uint32_t procedure)
    : CallHeader(program, version, procedure, wire::Auth{}) {}

CallHeader::CallHeader(std::uint32_t program, std::uint32_t version, std::uint32_t procedure,
                       const wire::Auth& credential) {
  wire::RpcCall call;
  call.prog = program;
  call.vers = version;
  call.proc = procedure;
  call.cred = credential;
  call.cred.body =
      call.cred.body.first(std::min<std::size_t>(call.cred.body.size(), wire::kMaxAuthBytes));
  bytes_.resize(wire::encoded_size(call));
  // bytes_ has exactly the length of the header.
  (void)wire::encode_rpc(call, bytes_);
}

std::vector<std::uint8_t> auth_sys_body(std::string_view machine, std::uint32_t uid,
                                        std::uint32_t gid, std::span<const std::uint32_t> gids) {
  const std::string_view name = machine.substr(0, kMaxMachine);
  const std::size_t count = std::min(gids.size(), kMaxGids);
  std::vector<std::uint8_t> groups(4 * count);
  for (std::size_t i = 0; i < count; ++i) wire::store_be32(groups.data() + 4 * i, gids[i]);

  wire::AuthSys sys;
  sys.machine = base::as_bytes(name);
  sys.uid = uid;
  sys.gid = gid;
  sys.gid_count = static_cast<std::uint32_t>(count);
  sys.gids = groups;
  std::vector<std::uint8_t> body(wire::kMaxAuthBytes);
  body.resize(wire::encode_auth_sys(sys, body).value_or(0));
  return body;
}

const char* rpc_status_name(RpcStatus status) {
  switch (status) {
    case RpcStatus::kSuccess:
      return "success";
    case RpcStatus::kProgUnavail:
      return "PROG_UNAVAIL";
    case RpcStatus::kProgMismatch:
      return "PROG_MISMATCH";
    case RpcStatus::kProcUnavail:
      return "PROC_UNAVAIL";
    case RpcStatus::kGarbageArgs:
      return "GARBAGE_ARGS";
    case RpcStatus::kSystemErr:
      return "SYSTEM_ERR";
    case RpcStatus::kRpcMismatch:
      return "RPC_MISMATCH";
    case RpcStatus::kAuthError:
      return "AUTH_ERROR";
    case RpcStatus::kMalformed:
      return "malformed Reply";
    case RpcStatus::kNoReply:
      return "no Reply";
  }
  return "?";
}

ReplyReader::ReplyReader(const protocol::CallOutcome& outcome,
                         std::span<const protocol::ResultSpace> spaces)
    : results_({}, {}) {
  if (outcome.status != protocol::CallStatus::kReplied) return;
  const auto rpc = wire::decode_rpc(outcome.reply);
  if (!rpc || rpc->type != wire::MsgType::kReply) {
    status_ = RpcStatus::kMalformed;
    return;
  }
  header_ = rpc->reply;
  status_ = status_of(header_);
  if (status_ != RpcStatus::kSuccess) return;
  if (outcome.items.size() > kMaxReadItems) {
    status_ = RpcStatus::kMalformed;
    return;
  }
  std::size_t count = 0;
  for (const protocol::Placed& item : outcome.items) placed_[count++] = item;
  const std::size_t results =
      std::min({spaces.size(), outcome.result_bytes.size(), protocol::kMaxResults});
  for (std::size_t i = 0; i < results; ++i) {
    const wire::Bytes bytes(spaces[i].data, std::min(outcome.result_bytes[i], spaces[i].length));
    placed_[count++] = {protocol::kAnyPosition, bytes, nullptr};
  }
  results_ =
      protocol::StreamReader(outcome.reply, std::span(placed_).first(count), outcome.padding);
  (void)results_.opaque_fixed(rpc->length);
}

namespace {

// Describes an outcome without a Reply.
std::string describe(const protocol::CallOutcome& outcome) {
  std::string text = protocol::call_status_name(outcome.status);
  if (*outcome.reason != '\0') text += fmt::format(": {}", outcome.reason);
  if (outcome.status == protocol::CallStatus::kErrorVersion) {
    return text + fmt::format("; it supports {} to {}", outcome.vers_low, outcome.vers_high);
  }
  if (outcome.lost || outcome.attempts > 1) {
    text += fmt::format("; sent {} time{}", outcome.attempts, outcome.attempts == 1 ? "" : "s");
  }
  if (!outcome.lost_for.empty()) {
    text += fmt::format("; the last connection: {}", outcome.lost_for);
  }
  return text;
}

}  // namespace

std::string describe(const protocol::CallOutcome& outcome, const ReplyReader& reply) {
  const wire::RpcReply& h = reply.header();
  switch (reply.status()) {
    case RpcStatus::kNoReply:
      return describe(outcome);
    case RpcStatus::kProgMismatch:
    case RpcStatus::kRpcMismatch:
      return fmt::format("{}: versions {} to {}", rpc_status_name(reply.status()), h.low, h.high);
    case RpcStatus::kAuthError:
      return fmt::format("{}: {}", rpc_status_name(reply.status()),
                         wire::auth_stat_name(h.auth_stat));
    default:
      return rpc_status_name(reply.status());
  }
}

}  // namespace rpcrdma::service
