// ONC RPC version 2 message headers (RFC 5531), up to the arguments and results.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {

// auth_flavor, RFC 5531 section 8.2 and the IANA registry.
enum class AuthFlavor : std::uint32_t {
  kNone = 0,
  kSys = 1,
  kShort = 2,
  kDh = 3,
  kRpcsecGss = 6,
  kTls = 7,
};

inline constexpr std::uint32_t kMaxAuthBytes = 400;  // RFC 5531 section 8.2

struct Auth {
  std::uint32_t flavor = 0;
  Bytes body;
};

enum class ReplyStat : std::uint32_t { kAccepted = 0, kDenied = 1 };
enum class AcceptStat : std::uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,
  kProgMismatch = 2,
  kProcUnavail = 3,
  kGarbageArgs = 4,
  kSystemErr = 5,
};
enum class RejectStat : std::uint32_t { kRpcMismatch = 0, kAuthError = 1 };

struct RpcCall {
  std::uint32_t xid = 0;
  std::uint32_t rpcvers = 2;
  std::uint32_t prog = 0;
  std::uint32_t vers = 0;
  std::uint32_t proc = 0;
  Auth cred;
  Auth verf;
};

struct RpcReply {
  std::uint32_t xid = 0;
  ReplyStat stat = ReplyStat::kAccepted;
  Auth verf;                                     // accepted
  AcceptStat accept = AcceptStat::kSuccess;      // accepted
  RejectStat reject = RejectStat::kRpcMismatch;  // denied
  std::uint32_t low = 0, high = 0;               // PROG_MISMATCH, RPC_MISMATCH
  std::uint32_t auth_stat = 0;                   // AUTH_ERROR
};

struct RpcView {
  RpcView() {}  // not "= default": see HeaderView

  MsgType type = MsgType::kCall;
  RpcCall call;              // type == kCall
  RpcReply reply;            // type == kReply
  std::uint32_t length = 0;  // of the RPC header; arguments or results follow
};

// Decodes the header at the front of `message`. Views point into `message`. The header of a denied
// or failed Reply includes its mismatch or auth_stat words. Errors: kTruncated; kBadValue for an
// unknown msg_type, reply_stat, accept_stat or reject_stat; kTooLong for an opaque_auth over 400
// bytes. A Call with rpcvers other than 2 is decoded; answering RPC_MISMATCH is the responder's
// task.
[[nodiscard]] Result<RpcView> decode_rpc(Bytes message);

// encode_rpc() writes to the front of `out` and returns the length; encoded_size() returns that
// length in advance. Errors: kNoSpace; kTooLong for an opaque_auth over 400 bytes; kBadValue for a
// reply_stat, accept_stat or reject_stat that RFC 5531 does not have.
[[nodiscard]] std::size_t encoded_size(const RpcCall& call);
[[nodiscard]] std::size_t encoded_size(const RpcReply& reply);
[[nodiscard]] Result<std::size_t> encode_rpc(const RpcCall& call, MutableBytes out);
[[nodiscard]] Result<std::size_t> encode_rpc(const RpcReply& reply, MutableBytes out);

// AUTH_SYS (RFC 5531 appendix A). Views point into the credential's body; bytes after the
// credential are ignored. Errors: kTruncated; kTooLong over 255 bytes of name or 16 gids. Encoding:
// also kNoSpace, and kBadValue if gids is not gid_count words long.
struct AuthSys {
  std::uint32_t stamp = 0;
  Bytes machine;  // at most 255 bytes, not terminated
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t gid_count = 0;  // at most 16
  Bytes gids;                   // gid_count big-endian words
};
[[nodiscard]] Result<AuthSys> decode_auth_sys(Bytes body);
[[nodiscard]] Result<std::size_t> encode_auth_sys(const AuthSys& auth, MutableBytes out);

// rpc_gss_cred_vers_1_t (RFC 2203 section 5); version 2 of RFC 5403 has the same layout. gss_proc
// and service are not checked. Errors: kTruncated; kUnsupported for a version other than 1 and 2.
// Encoding: also kNoSpace, and kTooLong if the credential would exceed 400 bytes.
struct GssCred {
  std::uint32_t version = 1;
  std::uint32_t gss_proc = 0;  // 0 DATA, 1 INIT, 2 CONTINUE_INIT, 3 DESTROY
  std::uint32_t seq_num = 0;
  std::uint32_t service = 1;  // 1 none, 2 integrity, 3 privacy
  Bytes handle;
};
[[nodiscard]] Result<GssCred> decode_gss_cred(Bytes body);
[[nodiscard]] Result<std::size_t> encode_gss_cred(const GssCred& cred, MutableBytes out);

[[nodiscard]] const char* auth_flavor_name(std::uint32_t flavor);
[[nodiscard]] const char* accept_stat_name(std::uint32_t stat);
[[nodiscard]] const char* reject_stat_name(std::uint32_t stat);
[[nodiscard]] const char* auth_stat_name(std::uint32_t stat);

}  // namespace rpcrdma::wire
