// The bodies of two kinds of credentials: AUTH_SYS and RPCSEC_GSS.
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::wire {
namespace {

constexpr const char* kSysRule = "RFC 5531 A";
constexpr const char* kGssRule = "RFC 2203 5";
constexpr std::uint32_t kMaxMachine = 255;
constexpr std::uint32_t kMaxGids = 16;

void put(XdrWriter& out, const AuthSys& auth) {
  out.u32(auth.stamp);
  out.opaque(auth.machine);
  out.u32(auth.uid);
  out.u32(auth.gid);
  out.u32(auth.gid_count);
  out.opaque_fixed(auth.gids);
}

void put(XdrWriter& out, const GssCred& cred) {
  out.u32(cred.version);
  out.u32(cred.gss_proc);
  out.u32(cred.seq_num);
  out.u32(cred.service);
  out.opaque(cred.handle);
}

template <typename Cred>
Result<std::size_t> encode_credential(const Cred& cred, MutableBytes bytes) {
  XdrWriter out(bytes);
  put(out, cred);
  if (!out.ok()) {
    return fail(Errc::kNoSpace, bytes.size(), "", "output is too small for the credential");
  }
  return out.size();
}

}  // namespace

Result<AuthSys> decode_auth_sys(Bytes body) {
  XdrReader in(body);
  AuthSys auth;
  auth.stamp = in.u32();
  const std::size_t machine_at = in.offset();
  const std::uint32_t machine_length = in.u32();
  if (machine_length > kMaxMachine) {
    return fail(Errc::kTooLong, machine_at, kSysRule, "machinename is over 255 bytes");
  }
  auth.machine = in.opaque_fixed(machine_length);
  auth.uid = in.u32();
  auth.gid = in.u32();
  const std::size_t gids_at = in.offset();
  auth.gid_count = in.u32();
  if (auth.gid_count > kMaxGids) {
    return fail(Errc::kTooLong, gids_at, kSysRule, "there are over 16 gids");
  }
  auth.gids = in.opaque_fixed(std::uint64_t{auth.gid_count} * 4);
  if (!in.ok()) {
    return fail(Errc::kTruncated, in.offset(), kSysRule, "bytes end inside the AUTH_SYS body");
  }
  return auth;
}

Result<std::size_t> encode_auth_sys(const AuthSys& auth, MutableBytes out) {
  if (auth.machine.size() > kMaxMachine) {
    return fail(Errc::kTooLong, 4, kSysRule, "machinename is over 255 bytes");
  }
  if (auth.gid_count > kMaxGids) {
    return fail(Errc::kTooLong, 0, kSysRule, "there are over 16 gids");
  }
  if (auth.gids.size() != std::size_t{auth.gid_count} * 4) {
    return fail(Errc::kBadValue, 0, kSysRule, "gids is not gid_count words long");
  }
  return encode_credential(auth, out);
}

Result<GssCred> decode_gss_cred(Bytes body) {
  XdrReader in(body);
  GssCred cred;
  cred.version = in.u32();
  if (in.ok() && cred.version != 1 && cred.version != 2) {
    return fail(Errc::kUnsupported, 0, kGssRule, "RPCSEC_GSS version is not 1 or 2");
  }
  cred.gss_proc = in.u32();
  cred.seq_num = in.u32();
  cred.service = in.u32();
  cred.handle = in.opaque();
  if (!in.ok()) {
    return fail(Errc::kTruncated, in.offset(), kGssRule, "bytes end inside the RPCSEC_GSS body");
  }
  return cred;
}

Result<std::size_t> encode_gss_cred(const GssCred& cred, MutableBytes out) {
  if (cred.version != 1 && cred.version != 2) {
    return fail(Errc::kUnsupported, 0, kGssRule, "RPCSEC_GSS version is not 1 or 2");
  }
  constexpr std::size_t kFixedBytes = 20;
  if (cred.handle.size() > kMaxAuthBytes - kFixedBytes) {
    return fail(Errc::kTooLong, 16, "RFC 5531 8.2", "opaque_auth body is over 400 bytes");
  }
  return encode_credential(cred, out);
}

}  // namespace rpcrdma::wire
