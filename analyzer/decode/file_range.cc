#include "call_reduction.h"
#include "compound.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

constexpr std::uint32_t kOpRead = 25;
constexpr std::uint32_t kOpWrite = 38;

// Reads the last word, the count, and marks the range valid if all of it was captured.
FileRange finish(wire::XdrReader& reader, std::uint64_t offset) {
  const std::uint32_t count = reader.u32();
  return reader.ok() ? FileRange{true, offset, count} : FileRange{};
}

// RFC 1094 sections 2.2.7, 2.2.9.
FileRange nfs2_range(std::uint32_t procedure, wire::Bytes args) {
  constexpr std::uint32_t kRead = 6;
  constexpr std::uint32_t kWrite = 8;
  constexpr std::uint32_t kFileHandleBytes = 32;
  if (procedure != kRead && procedure != kWrite) return {};
  wire::XdrReader reader(args);
  reader.skip(kFileHandleBytes);
  if (procedure == kWrite) reader.skip(4);  // beginoffset
  const std::uint32_t offset = reader.u32();
  if (procedure == kWrite) reader.skip(4);  // totalcount
  return finish(reader, offset);
}

// RFC 1813 sections 3.3.6, 3.3.7.
FileRange nfs3_range(std::uint32_t procedure, wire::Bytes args) {
  constexpr std::uint32_t kRead = 6;
  constexpr std::uint32_t kWrite = 7;
  if (procedure != kRead && procedure != kWrite) return {};
  wire::XdrReader reader(args);
  (void)reader.opaque();  // file handle
  const std::uint64_t offset = reader.u64();
  if (procedure == kWrite) reader.skip(8);  // count, stable
  return finish(reader, offset);
}

// RFC 7530 sections 16.23, 16.36. The first READ or WRITE counts.
FileRange compound_range(const ProcedureId& id, wire::Bytes args,
                         std::span<const Removed> removed) {
  CompoundReader compound(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction(removed);
  while (const Operation* operation = compound.next()) {
    if (operation->op == kOpRead || operation->op == kOpWrite) {
      wire::XdrReader reader(args, compound.offset());
      reader.skip(16);  // stateid
      const std::uint64_t offset = reader.u64();
      if (operation->op == kOpWrite) reader.skip(4);  // stable
      return finish(reader, offset);
    }
    compound.skip_arguments(*operation, reduction);
    if (reduction.has_passed_unseen(compound.offset())) break;
  }
  return {};
}

}  // namespace

FileRange file_range(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed) {
  if (id.program != kProgNfs) return {};
  if (id.version == 2) return nfs2_range(id.procedure, args);
  if (id.version == 3) return nfs3_range(id.procedure, args);
  return is_compound(id) ? compound_range(id, args, removed) : FileRange{};
}

}  // namespace rpcrdma::decode
