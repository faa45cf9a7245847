#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

constexpr const char* kRdmaConfigRule = "RFC 5666 6.2";
constexpr std::size_t kBodyBytes = 12;

tl::unexpected<DecodeError> no_space(MutableBytes out) {
  return fail(Errc::kNoSpace, out.size(), "", "output is too small for 12 bytes");
}

}  // namespace

Result<RdmaConfigRequest> decode_rdmaconfig_request(Bytes args) {
  XdrReader in(args);
  RdmaConfigRequest request;
  request.maxcall_sendsize = in.u32();
  request.maxreply_sendsize = in.u32();
  request.maxrdmaread = in.u32();
  if (!in.ok()) {
    return fail(Errc::kTruncated, in.offset(), kRdmaConfigRule, "bytes end inside config_rdma_req");
  }
  return request;
}

Result<RdmaConfigReply> decode_rdmaconfig_reply(Bytes results) {
  XdrReader in(results);
  RdmaConfigReply reply;
  reply.maxcall_sendsize = in.u32();
  reply.align = in.u32();
  reply.maxrdmaread = in.u32();
  if (!in.ok()) {
    return fail(Errc::kTruncated, in.offset(), kRdmaConfigRule,
                "bytes end inside config_rdma_reply");
  }
  return reply;
}

Result<std::size_t> encode_rdmaconfig(const RdmaConfigRequest& r, MutableBytes bytes) {
  if (bytes.size() < kBodyBytes) return no_space(bytes);
  XdrWriter out(bytes);
  out.u32(r.maxcall_sendsize);
  out.u32(r.maxreply_sendsize);
  out.u32(r.maxrdmaread);
  return out.size();
}

Result<std::size_t> encode_rdmaconfig(const RdmaConfigReply& r, MutableBytes bytes) {
  if (bytes.size() < kBodyBytes) return no_space(bytes);
  XdrWriter out(bytes);
  out.u32(r.maxcall_sendsize);
  out.u32(r.align);
  out.u32(r.maxrdmaread);
  return out.size();
}

}  // namespace rpcrdma::wire
