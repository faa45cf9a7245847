#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

// Decodes the parts of RFC 5531 section 9, one function each. They continue past the end of the
// bytes, where the reader returns zeros (a legal value of every enum here); run() checks the reader
// before it accepts the result.
class RpcDecoder {
 public:
  explicit RpcDecoder(Bytes message, RpcView& out) : in_(message), out_(out) {}

  [[nodiscard]] bool run() {
    const std::uint32_t xid = in_.u32();
    const std::size_t type_at = in_.offset();
    const std::uint32_t type = in_.u32();
    if (type > 1) return failed(Errc::kBadValue, type_at, "RFC 5531 9", "msg_type is not 0 or 1");
    out_.type = static_cast<MsgType>(type);
    if (!(type == 0 ? call(xid) : reply(xid))) return false;
    if (!in_.ok()) {
      return failed(Errc::kTruncated, in_.offset(), "RFC 5531 9",
                    "bytes end inside the RPC header");
    }
    out_.length = static_cast<std::uint32_t>(in_.offset());
    return true;
  }

  [[nodiscard]] const DecodeError& error() const { return error_; }

 private:
  bool failed(Errc code, std::size_t offset, const char* rule, const char* what) {
    error_ = {code, static_cast<std::uint32_t>(offset), rule, what};
    return false;
  }

  bool call(std::uint32_t xid) {
    RpcCall& c = out_.call;
    c.xid = xid;
    c.rpcvers = in_.u32();
    c.prog = in_.u32();
    c.vers = in_.u32();
    c.proc = in_.u32();
    return auth(c.cred) && auth(c.verf);
  }

  bool reply(std::uint32_t xid) {
    RpcReply& r = out_.reply;
    r.xid = xid;
    const std::size_t at = in_.offset();
    const std::uint32_t stat = in_.u32();
    if (stat > 1) return failed(Errc::kBadValue, at, "RFC 5531 9", "reply_stat is not 0 or 1");
    r.stat = static_cast<ReplyStat>(stat);
    return r.stat == ReplyStat::kAccepted ? accepted(r) : denied(r);
  }

  bool accepted(RpcReply& r) {
    if (!auth(r.verf)) return false;
    const std::size_t at = in_.offset();
    const std::uint32_t stat = in_.u32();
    if (stat > static_cast<std::uint32_t>(AcceptStat::kSystemErr)) {
      return failed(Errc::kBadValue, at, "RFC 5531 9", "accept_stat is not one of 0..5");
    }
    r.accept = static_cast<AcceptStat>(stat);
    if (r.accept == AcceptStat::kProgMismatch) mismatch(r);
    return true;
  }

  bool denied(RpcReply& r) {
    const std::size_t at = in_.offset();
    const std::uint32_t stat = in_.u32();
    if (stat > 1) return failed(Errc::kBadValue, at, "RFC 5531 9", "reject_stat is not 0 or 1");
    r.reject = static_cast<RejectStat>(stat);
    if (r.reject == RejectStat::kRpcMismatch) {
      mismatch(r);
    } else {
      r.auth_stat = in_.u32();
    }
    return true;
  }

  void mismatch(RpcReply& r) {
    r.low = in_.u32();
    r.high = in_.u32();
  }

  bool auth(Auth& a) {
    a.flavor = in_.u32();
    const std::size_t at = in_.offset();
    const std::uint32_t length = in_.u32();
    if (length > kMaxAuthBytes) {
      return failed(Errc::kTooLong, at, "RFC 5531 8.2", "opaque_auth body is over 400 bytes");
    }
    a.body = in_.opaque_fixed(length);
    return true;
  }

  XdrReader in_;
  RpcView& out_;
  DecodeError error_;
};

}  // namespace

Result<RpcView> decode_rpc(Bytes message) {
  Result<RpcView> result;
  RpcDecoder decoder(message, *result);
  if (!decoder.run()) result = tl::unexpected(decoder.error());
  return result;
}

}  // namespace rpcrdma::wire
