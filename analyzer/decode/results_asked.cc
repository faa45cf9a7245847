#include <rpcrdma/decode/compound_call.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using Asked = std::optional<std::uint64_t>;

// Returns the next word, if it was captured.
Asked word(wire::XdrReader& reader) {
  const std::uint32_t count = reader.u32();
  return reader.ok() ? Asked(count) : std::nullopt;
}

// RFC 1094 sections 2.2.7, 2.2.17: a file handle, then offset or cookie.
Asked nfs2_asked(std::uint32_t procedure, wire::Bytes args) {
  constexpr std::uint32_t kRead = 6;
  constexpr std::uint32_t kReaddir = 16;
  if (procedure != kRead && procedure != kReaddir) return std::nullopt;
  wire::XdrReader reader(args);
  reader.skip(36);
  return word(reader);
}

// RFC 1813 sections 3.3.6, 3.3.16, 3.3.17.
Asked nfs3_asked(std::uint32_t procedure, wire::Bytes args) {
  constexpr std::uint32_t kRead = 6;
  constexpr std::uint32_t kReaddir = 16;
  constexpr std::uint32_t kReaddirplus = 17;
  if (procedure != kRead && procedure != kReaddir && procedure != kReaddirplus) return std::nullopt;
  wire::XdrReader reader(args);
  (void)reader.opaque();                          // file handle
  reader.skip(8);                                 // offset or cookie
  if (procedure != kRead) reader.skip(8);         // cookieverf
  if (procedure == kReaddirplus) reader.skip(4);  // dircount
  return word(reader);
}

}  // namespace

Asked results_asked(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed) {
  if (id.program != kProgNfs) return std::nullopt;
  if (id.version == 2) return nfs2_asked(id.procedure, args);
  if (id.version == 3) return nfs3_asked(id.procedure, args);
  return read_compound_call(id, args, removed, kNotPadded, nullptr).results_asked;
}

}  // namespace rpcrdma::decode
