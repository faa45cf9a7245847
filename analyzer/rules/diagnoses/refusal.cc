// Classifies refusals, and describes each kind with its reason and advice.
#include "refusal.h"

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

namespace {

using wire::AcceptStat;
using wire::RdmaErr;

constexpr std::uint32_t kMinorVersMismatch = 10021;  // RFC 8881 section 15.1

bool is_transport(const Refusal& r, RdmaErr error) {
  return r.by == RefusedBy::kTransport && r.code == static_cast<std::uint32_t>(error);
}
bool is_accept(const Refusal& r, AcceptStat stat) {
  return r.by == RefusedBy::kRpcProgram && r.code == static_cast<std::uint32_t>(stat);
}

// "program NFS", "program 400123"
std::string program_text(const model::RpcInfo& rpc) {
  const char* const name = decode::program_name(rpc.program, rpc.version, rpc.procedure);
  return name != nullptr ? fmt::format("program {}", name) : fmt::format("program {}", rpc.program);
}

std::string versions(std::uint32_t low, std::uint32_t high) {
  return low == high ? fmt::format("only version {}", low)
                     : fmt::format("versions {} to {}", low, high);
}

}  // namespace

std::optional<Refusal> refusal_of(const model::Message& m) {
  if (m.kind == model::Kind::kError) {
    return Refusal{RefusedBy::kTransport, static_cast<std::uint32_t>(m.error)};
  }
  const model::RpcInfo& rpc = m.rpc;
  if (m.kind != model::Kind::kReply || !rpc.header_seen) return std::nullopt;
  if (rpc.reply_stat == wire::ReplyStat::kDenied) {
    return rpc.reject_stat == wire::RejectStat::kAuthError
               ? Refusal{RefusedBy::kRpcAuth, rpc.auth_stat}
               : Refusal{RefusedBy::kRpcVersion, 0};
  }
  if (rpc.accept_stat != AcceptStat::kSuccess) {
    return Refusal{RefusedBy::kRpcProgram, static_cast<std::uint32_t>(rpc.accept_stat)};
  }
  const bool nfs4 = rpc.version >= 4 || decode::is_transient_program(rpc.program);
  if (rpc.has_status && rpc.status == kMinorVersMismatch && nfs4) {
    return Refusal{RefusedBy::kMinorVersion, 0};
  }
  return std::nullopt;
}

std::string refusal_name(const Refusal& r, const model::Message& answer) {
  switch (r.by) {
    case RefusedBy::kTransport:
      return model::error_name(answer);
    case RefusedBy::kRpcProgram:
      return wire::accept_stat_name(r.code);
    case RefusedBy::kRpcVersion:
      return "RPC_MISMATCH";
    case RefusedBy::kRpcAuth: {
      const char* const name = wire::auth_stat_name(r.code);
      return name != nullptr ? fmt::format("AUTH_ERROR: {}", name)
                             : fmt::format("AUTH_ERROR: auth_stat {}", r.code);
    }
    case RefusedBy::kMinorVersion:
      return "NFS4ERR_MINOR_VERS_MISMATCH";
  }
  return {};
}

std::string refusal_reason(const Refusal& r, const model::Call& call, const model::Message& answer,
                           const char* responder) {
  const model::RpcInfo& rpc = call.message.rpc;
  // In a later dialect, all codes except ERR_VERS have other meanings.
  if (model::later_dialect(answer) && !is_transport(r, RdmaErr::kVers)) {
    if (r.by == RefusedBy::kTransport) return {};
  }
  if (is_transport(r, RdmaErr::kVers)) {
    return fmt::format("the {} supports {} of RPC-over-RDMA, but the Calls have version {}",
                       responder, versions(answer.vers_low, answer.vers_high),
                       call.message.version);
  }
  if (is_transport(r, RdmaErr::kCantReply)) {
    return answer.segment_index == 0
               ? std::string("the results do not fit the chunks that the Calls provide")
               : fmt::format("segment {} needs {} bytes", answer.segment_index,
                             answer.length_needed);
  }
  if (is_accept(r, AcceptStat::kProgUnavail)) {
    return rpc.known ? fmt::format("the {} does not serve {}", responder, program_text(rpc))
                     : std::string();
  }
  if (is_accept(r, AcceptStat::kProgMismatch)) {
    return fmt::format("the {} supports {} of {}", responder,
                       versions(answer.rpc.vers_low, answer.rpc.vers_high),
                       rpc.known ? program_text(rpc) : "the program");
  }
  if (r.by == RefusedBy::kRpcVersion) {
    return fmt::format("the {} supports {} of RPC", responder,
                       versions(answer.rpc.vers_low, answer.rpc.vers_high));
  }
  if (r.by == RefusedBy::kMinorVersion) {
    return fmt::format("the {} does not support NFS version 4.{}", responder, rpc.ops.minor);
  }
  return {};
}

const char* refusal_advice(const Refusal& r) {
  switch (r.by) {
    case RefusedBy::kTransport:
      switch (static_cast<RdmaErr>(r.code)) {
        case RdmaErr::kVers:
          return "Have the requester use a version of RPC-over-RDMA that its responder supports.";
        case RdmaErr::kChunk:
          return "Compare the Calls with the responder's limits, and their chunks for results with "
                 "the size of the results: the responder could not parse the header, handle that "
                 "many chunks or segments, or place its Reply.";
        case RdmaErr::kCantReply:
          return "Have the requester provide more memory for the results, or request less.";
        default:
          return nullptr;
      }
    case RefusedBy::kRpcProgram:
      switch (static_cast<AcceptStat>(r.code)) {
        case AcceptStat::kProgUnavail:
          return "Start the program on the responder, or call the port on which it is served.";
        case AcceptStat::kProgMismatch:
          return "Have the requester call a version that the responder supports (mount -o vers=), "
                 "or enable this version there.";
        case AcceptStat::kProcUnavail:
          return "Update the responder's program: it is older than the requester assumes, or "
                 "incomplete.";
        case AcceptStat::kGarbageArgs:
          return "Compare the arguments, and the data in Read chunks, with the procedure's XDR: "
                 "the responder could not decode them.";
        default:
          return nullptr;
      }
    case RefusedBy::kRpcVersion:
      return "Check the requester's RPC header: only version 2 is in use.";
    case RefusedBy::kRpcAuth:
      return "Compare the flavor and credential of the Calls with those that the responder's "
             "export or program requires (sec=), and check the RPCSEC_GSS daemons and clocks of "
             "both sides.";
    case RefusedBy::kMinorVersion:
      return "Mount with a minor version that the server supports (mount -o vers=4.1), or enable "
             "this one there.";
  }
  return nullptr;
}

// NFSACL accompanies NFS; RFC 5666's configuration protocol precedes any program.
bool is_optional_program(std::uint32_t program) {
  return program == decode::kProgNfsAcl || program == decode::kProgRdmaConfig;
}

bool may_be_probed(const Refusal& r, const model::RpcInfo& call) {
  return r.by == RefusedBy::kRpcAuth || r.by == RefusedBy::kMinorVersion ||
         is_transport(r, RdmaErr::kVers) || is_transport(r, RdmaErr::kCantReply) ||
         is_accept(r, AcceptStat::kProgMismatch) ||
         (r.by == RefusedBy::kRpcProgram && call.known && is_optional_program(call.program));
}

}  // namespace rpcrdma::rules
