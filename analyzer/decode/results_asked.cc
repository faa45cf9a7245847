#include "call_reduction.h"
#include "compound.h"

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

// RFC 7530 sections 16.23, 16.24: the sum requested by all READs and READDIRs.
Asked compound_asked(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed) {
  constexpr std::uint32_t kRead = 25;
  constexpr std::uint32_t kReaddir = 26;
  CompoundReader compound(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction(removed);
  Asked sum;
  while (const Operation* operation = compound.next()) {
    if (operation->op == kRead || operation->op == kReaddir) {
      wire::XdrReader reader(args, compound.offset());
      // stateid and offset; or cookie, cookieverf and dircount
      reader.skip(operation->op == kRead ? 24 : 20);
      const Asked count = word(reader);
      if (!count) return sum;
      sum = sum.value_or(0) + *count;
    }
    compound.skip_arguments(*operation, reduction);
    if (reduction.has_passed_unseen(compound.offset())) break;
  }
  return sum;
}

}  // namespace

Asked results_asked(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed) {
  if (id.program != kProgNfs) return std::nullopt;
  if (id.version == 2) return nfs2_asked(id.procedure, args);
  if (id.version == 3) return nfs3_asked(id.procedure, args);
  return is_compound(id) ? compound_asked(id, args, removed) : std::nullopt;
}

}  // namespace rpcrdma::decode
