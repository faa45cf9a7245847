// How RPCSEC_GSS wraps the body of an RPC message: its arguments or results (RFC 2203 section 5.3).
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {

enum class Wrapping : std::uint8_t {
  kUnknown,    // the Call's credential was not seen; a Reply does not carry the service itself
  kNone,       // the body is the arguments or results
  kIntegrity,  // they stand behind a length and a sequence number, and a checksum follows: krb5i
  kPrivacy,    // they are encrypted: krb5p
  kControl,    // context creation or destruction: the body is RPCSEC_GSS's own
};

// By the credential of a Call; it holds for its Reply, too.
[[nodiscard]] Wrapping wrapping_of(const wire::Auth& cred);

// The same for a Reply whose Call's credential was not seen: kNone where the verifier is of another
// flavor, since only RPCSEC_GSS wraps.
[[nodiscard]] Wrapping wrapping_of_reply(Wrapping of_call, const wire::RpcReply& reply);

// Arguments or results, and where they begin in the body.
struct Unwrapped {
  wire::Bytes bytes;
  std::uint32_t offset = 0;
};
// `body`: what follows the RPC header, or its front. Nothing where the content cannot be read:
// encrypted, RPCSEC_GSS's own, not known to be plain, or too short for what wraps it.
[[nodiscard]] std::optional<Unwrapped> unwrap(Wrapping wrapping, wire::Bytes body);

// Why a body cannot be read: "encrypted (krb5p)", "wrapped (krb5i)"; null for kNone.
[[nodiscard]] const char* wrapping_name(Wrapping wrapping);

}  // namespace rpcrdma::decode
