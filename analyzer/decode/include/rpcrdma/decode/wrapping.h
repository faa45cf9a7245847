// How RPCSEC_GSS wraps the body of an RPC message: its arguments or results (RFC 2203 section 5.3).
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {

enum class Wrapping : std::uint8_t {
  kUnknown,    // the Call's credential was not seen; a Reply does not carry the service itself
  kNone,       // the body is the arguments or results
  kIntegrity,  // they follow a length and a sequence number and precede a checksum: krb5i
  kPrivacy,    // they are encrypted: krb5p
  kControl,    // context creation or destruction: the body is RPCSEC_GSS's own
};

// Derived from the credential of a Call; it also holds for its Reply.
[[nodiscard]] Wrapping wrapping_of(const wire::Auth& cred);

// The same for a Reply whose Call's credential was not seen: kNone if the verifier has another
// flavor, since only RPCSEC_GSS wraps.
[[nodiscard]] Wrapping wrapping_of_reply(Wrapping of_call, const wire::RpcReply& reply);

// Arguments or results, and their offset in the body.
struct Unwrapped {
  wire::Bytes bytes;
  std::uint32_t offset = 0;
};
// `body`: the bytes after the RPC header, or their front. Returns nothing if the content cannot be
// read: encrypted, RPCSEC_GSS control data, not known to be plain, or too short for its wrapping.
[[nodiscard]] std::optional<Unwrapped> unwrap(Wrapping wrapping, wire::Bytes body);

// The service's number in a credential: 1 to 3; nothing for kUnknown and kControl.
[[nodiscard]] std::optional<std::uint32_t> gss_service(Wrapping wrapping);

// Why a body cannot be read: "encrypted (krb5p)", "wrapped (krb5i)"; null for kNone.
[[nodiscard]] const char* wrapping_name(Wrapping wrapping);

}  // namespace rpcrdma::decode
