#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

void put_auth(XdrWriter& out, const Auth& auth) {
  out.u32(auth.flavor);
  out.opaque(auth.body);
}

void put(XdrWriter& out, const RpcCall& call) {
  out.u32(call.xid);
  out.u32(static_cast<std::uint32_t>(MsgType::kCall));
  out.u32(call.rpcvers);
  out.u32(call.prog);
  out.u32(call.vers);
  out.u32(call.proc);
  put_auth(out, call.cred);
  put_auth(out, call.verf);
}

void put_accepted(XdrWriter& out, const RpcReply& reply) {
  put_auth(out, reply.verf);
  out.u32(static_cast<std::uint32_t>(reply.accept));
  if (reply.accept == AcceptStat::kProgMismatch) {
    out.u32(reply.low);
    out.u32(reply.high);
  }
}

void put_denied(XdrWriter& out, const RpcReply& reply) {
  out.u32(static_cast<std::uint32_t>(reply.reject));
  if (reply.reject == RejectStat::kRpcMismatch) {
    out.u32(reply.low);
    out.u32(reply.high);
  } else {
    out.u32(reply.auth_stat);
  }
}

void put(XdrWriter& out, const RpcReply& reply) {
  out.u32(reply.xid);
  out.u32(static_cast<std::uint32_t>(MsgType::kReply));
  out.u32(static_cast<std::uint32_t>(reply.stat));
  if (reply.stat == ReplyStat::kAccepted) {
    put_accepted(out, reply);
  } else {
    put_denied(out, reply);
  }
}

// A dry run: the writer also counts bytes that do not fit.
template <typename Message>
std::size_t measure(const Message& message) {
  XdrWriter out{MutableBytes{}};
  put(out, message);
  return out.size();
}

template <typename Message>
Result<std::size_t> encode_message(const Message& message, MutableBytes bytes) {
  if (measure(message) > bytes.size()) {
    return fail(Errc::kNoSpace, bytes.size(), "", "output is too small for the RPC header");
  }
  XdrWriter out(bytes);
  put(out, message);
  return out.size();
}

tl::unexpected<DecodeError> auth_too_long() {
  return fail(Errc::kTooLong, 0, "RFC 5531 8.2", "opaque_auth body is over 400 bytes");
}

bool named(const RpcReply& reply) {
  if (reply.stat == ReplyStat::kAccepted) return reply.accept <= AcceptStat::kSystemErr;
  return reply.stat == ReplyStat::kDenied && reply.reject <= RejectStat::kAuthError;
}

}  // namespace

std::size_t encoded_size(const RpcCall& call) {
  return measure(call);
}

std::size_t encoded_size(const RpcReply& reply) {
  return measure(reply);
}

Result<std::size_t> encode_rpc(const RpcCall& call, MutableBytes out) {
  if (call.cred.body.size() > kMaxAuthBytes || call.verf.body.size() > kMaxAuthBytes) {
    return auth_too_long();
  }
  return encode_message(call, out);
}

Result<std::size_t> encode_rpc(const RpcReply& reply, MutableBytes out) {
  if (!named(reply)) {
    return fail(Errc::kBadValue, 8, "RFC 5531 9", "status is not defined by RFC 5531");
  }
  if (reply.stat == ReplyStat::kAccepted && reply.verf.body.size() > kMaxAuthBytes) {
    return auth_too_long();
  }
  return encode_message(reply, out);
}

}  // namespace rpcrdma::wire
