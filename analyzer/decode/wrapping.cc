#include <algorithm>

#include <rpcrdma/decode/wrapping.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::decode {
namespace {

constexpr std::uint32_t kData = 0;  // gss_proc, RFC 2203 section 5.2.2
// service, RFC 2203 section 5.2.2
constexpr std::uint32_t kServiceNone = 1;
constexpr std::uint32_t kServiceIntegrity = 2;
constexpr std::uint32_t kServicePrivacy = 3;

bool is_gss(const wire::Auth& auth) {
  return auth.flavor == static_cast<std::uint32_t>(wire::AuthFlavor::kRpcsecGss);
}

}  // namespace

Wrapping wrapping_of(const wire::Auth& cred) {
  if (!is_gss(cred)) return Wrapping::kNone;
  const auto gss = wire::decode_gss_cred(cred.body);
  if (!gss) return Wrapping::kUnknown;
  if (gss->gss_proc != kData) return Wrapping::kControl;
  switch (gss->service) {
    case kServiceNone:
      return Wrapping::kNone;
    case kServiceIntegrity:
      return Wrapping::kIntegrity;
    case kServicePrivacy:
      return Wrapping::kPrivacy;
    default:
      return Wrapping::kUnknown;
  }
}

Wrapping wrapping_of_reply(Wrapping of_call, const wire::RpcReply& reply) {
  return of_call == Wrapping::kUnknown && !is_gss(reply.verf) ? Wrapping::kNone : of_call;
}

std::optional<Unwrapped> unwrap(Wrapping wrapping, wire::Bytes body) {
  if (wrapping == Wrapping::kNone) return Unwrapped{body, 0};
  if (wrapping != Wrapping::kIntegrity) return std::nullopt;
  // rpc_gss_integ_data: opaque databody_integ<>, which begins with seq_num; then the checksum.
  constexpr std::uint32_t kCount = 4;
  constexpr std::uint32_t kSequence = 4;
  if (body.size() < kCount + kSequence) return std::nullopt;
  const std::uint32_t length = wire::load_be32(body.data());
  if (length < kSequence) return std::nullopt;
  const wire::Bytes inside = body.subspan(kCount + kSequence);
  return Unwrapped{inside.first(std::min<std::size_t>(inside.size(), length - kSequence)),
                   kCount + kSequence};
}

std::optional<std::uint32_t> gss_service(Wrapping wrapping) {
  switch (wrapping) {
    case Wrapping::kNone:
      return kServiceNone;
    case Wrapping::kIntegrity:
      return kServiceIntegrity;
    case Wrapping::kPrivacy:
      return kServicePrivacy;
    default:
      return std::nullopt;
  }
}

const char* wrapping_name(Wrapping wrapping) {
  switch (wrapping) {
    case Wrapping::kUnknown:
      return "wrapped (RPCSEC_GSS)";
    case Wrapping::kNone:
      return nullptr;
    case Wrapping::kIntegrity:
      return "wrapped (krb5i)";
    case Wrapping::kPrivacy:
      return "encrypted (krb5p)";
    case Wrapping::kControl:
      return "RPCSEC_GSS control";
  }
  return nullptr;
}

}  // namespace rpcrdma::decode
