// Detects that an NFSv4.1 client accepts callbacks on the connection of a Call.
#include "call_reduction.h"
#include "compound.h"

#include <optional>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::decode {

namespace {

// CREATE_SESSION4_FLAG_CONN_BACK_CHAN; CDFC4_BACK, CDFC4_FORE_OR_BOTH and CDFC4_BACK_OR_BOTH have
// the bit too.
constexpr std::uint32_t kBack = 2;

// The offset of csa_flags or bctsa_dir in the operation's arguments.
std::optional<std::size_t> flags_offset(std::uint32_t operation) {
  if (operation == kOpCreateSession) return 12;      // after csa_clientid, csa_sequence
  if (operation == kOpBindConnToSession) return 16;  // after bctsa_sessid
  return std::nullopt;
}

}  // namespace

bool may_ask_for_back_channel(const ProcedureId& id, wire::Bytes args) {
  if (!is_compound(id)) return false;
  CompoundReader reader(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction({});
  while (const Operation* operation = reader.next()) {
    if (const auto into = flags_offset(operation->op)) {
      const std::size_t at = reader.offset() + *into;
      if (at + 4 > args.size() || (wire::load_be32(args.data() + at) & kBack) != 0) return true;
    }
    reader.skip_arguments(*operation, reduction);
  }
  return !reader.ops().complete;
}

}  // namespace rpcrdma::decode
