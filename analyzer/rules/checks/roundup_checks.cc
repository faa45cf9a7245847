// Checks that roundup bytes are zero: in the RPC header, and in the arguments and results of NFS.
#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/decode/roundup.h>

namespace rpcrdma::rules {

namespace {

// A sender that does not clear roundup does so in every message. So it is enough to check the first
// messages of each side, and some later ones: messages are numerous.
constexpr std::uint32_t kAllOfFirst = 256;
constexpr std::uint32_t kOneOf = 16;

bool is_roundup_checked(const model::Message& m, const CheckContext& context) {
  std::uint32_t& seen = context.history.messages_seen[m.sender];
  return ++seen <= kAllOfFirst || seen % kOneOf == 0;
}

// Returns the offset of a credential or verifier whose roundup is not zero.
std::optional<std::size_t> in_rpc_header(wire::Bytes rpc, const wire::RpcView& header) {
  const auto at = [&](const wire::Auth& auth) -> std::optional<std::size_t> {
    if (auth.body.empty()) return std::nullopt;
    const auto offset = static_cast<std::size_t>(auth.body.data() - rpc.data());
    if (!decode::has_nonzero_roundup(rpc, offset, auth.body.size())) return std::nullopt;
    return offset - 4;
  };
  if (header.type == wire::MsgType::kReply) return at(header.reply.verf);
  const auto cred = at(header.call.cred);
  return cred ? cred : at(header.call.verf);
}

void accuse_of_roundup(const model::Message& m, std::size_t at, const CheckContext& context) {
  context.findings.add(RuleId::kHdr12, evidence(m, context.connection, m.sender), [&] {
    return fmt::format(
        "the roundup of the item at byte {} of the RPC message of {} {:#010x} is not zero", at,
        m.kind == model::Kind::kCall ? "Call" : "Reply", m.xid);
  });
}

void search_roundup(const model::Message& m, wire::Bytes rpc, const decode::InChunks& in_chunks,
                    const CheckContext& context) {
  const auto header = wire::decode_rpc(rpc);
  if (!header) return;
  if (const auto at = in_rpc_header(rpc, *header)) return accuse_of_roundup(m, *at, context);
  if (!has_binding(m.rpc, context)) return;
  if (header->type == wire::MsgType::kReply &&
      (header->reply.stat != wire::ReplyStat::kAccepted ||
       header->reply.accept != wire::AcceptStat::kSuccess)) {
    return;
  }
  const auto found = decode::find_nonzero_roundup(procedure_of(m.rpc), header->type,
                                                  rpc.subspan(header->length), in_chunks);
  if (found) accuse_of_roundup(m, header->length + *found, context);
}

}  // namespace

void check_roundup(const model::Message& m, const model::Call* call, const CheckContext& context,
                   Scratch& s) {
  if (m.kind != model::Kind::kCall && m.kind != model::Kind::kReply) return;
  if (!is_roundup_checked(m, context) || !m.complete || m.suspect || model::may_be_padded(m))
    return;
  const wire::Bytes rpc = rpc_message(m, call);
  if (rpc.empty()) return;
  if (m.kind == model::Kind::kCall) {
    // Other Calls: see check_removed_roundup().
    if (!m.reads.empty()) return;
    return search_roundup(m, rpc, {}, context);
  }
  if (!m.reads.empty() || call == nullptr) return;
  total_lengths(m, s.returned);
  search_roundup(m, rpc, {{}, s.returned}, context);
}

void check_removed_roundup(const model::Message& call, wire::Bytes rpc, const Scratch& s,
                           const CheckContext& context) {
  if (call.complete && !call.suspect) search_roundup(call, rpc, {s.removed, {}}, context);
}

}  // namespace rpcrdma::rules
