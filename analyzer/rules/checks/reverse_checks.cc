// Calls by the RPC server (RFC 8167). Which side is the server is certain where the set-up was seen
// or RDMA was used; else nothing is said here.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

// With the sender, msg_type says which direction a message belongs to.
void check_msg_type(const model::Message& m, const CheckContext& context) {
  const bool conveys = m.proc == static_cast<std::uint32_t>(wire::Proc::kMsg) ||
                       m.proc == static_cast<std::uint32_t>(wire::Proc::kMsgp);
  if (m.version != 1 || !conveys || m.header_length == 0 || m.payload.size() < 8) return;
  const std::uint32_t type = wire::load_be32(m.payload.data() + 4);
  if (type <= 1 || wire::load_be32(m.payload.data()) != m.xid) return;
  context.findings.add(RuleId::kBi03, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("msg_type of RPC message {:#010x} is {}", m.xid, type);
  });
}

// Whether a forward Call tells that the client takes reverse Calls. What cannot be read may do so,
// and so may any Call of a program other than NFS version 4.
enum class Ready : std::uint8_t { kNo, kMay, kAsks };

bool sets_up(std::uint32_t op) {
  return op == decode::kOpCreateSession || op == decode::kOpBindConnToSession;
}

Ready announces_ready(const model::Message& m) {
  if (!m.rpc.known || m.rpc.program != decode::kProgNfs || m.rpc.version != 4) return Ready::kMay;
  if (m.rpc.procedure == 0) return Ready::kNo;
  const decode::CompoundOps& ops = m.rpc.ops;
  if (ops.kept == 0 || ops.announced > ops.kept) return Ready::kMay;
  if (std::none_of(ops.op.begin(), ops.op.begin() + ops.kept, sets_up)) return Ready::kNo;
  const auto header = wire::decode_rpc(m.payload);
  if (!header) return Ready::kMay;
  if (!decode::may_ask_for_back_channel(procedure_of(m.rpc), m.payload.subspan(header->length))) {
    return Ready::kNo;
  }
  // Only of the last operation its COMPOUND's status says whether it failed.
  return sets_up(ops.op[ops.kept - 1U]) ? Ready::kAsks : Ready::kMay;
}

void note_ready(const model::Message& m, ConnectionHistory& h) {
  if (h.ready_for_reverse && h.ready_frame == 0) return;
  const Ready ready = announces_ready(m);
  if (ready == Ready::kNo) return;
  // Of two that wait only one could be followed.
  h.ready_frame = ready == Ready::kAsks && !h.ready_for_reverse ? m.frame : 0;
  h.ready_for_reverse = true;
}

// What the server has refused sets up nothing.
void note_ready_answered(const model::Message& m, ConnectionHistory& h) {
  if (h.ready_frame == 0 || m.match_frame != h.ready_frame) return;
  h.ready_frame = 0;
  const bool refused = m.kind == Kind::kError ||
                       (m.rpc.header_seen && (m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                                              m.rpc.accept_stat != wire::AcceptStat::kSuccess)) ||
                       (m.rpc.has_status && m.rpc.status != 0);
  if (refused) h.ready_for_reverse = false;
}

void check_ready(const model::Message& m, const CheckContext& context) {
  if (context.history.ready_for_reverse) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.unsure = context.history.messages_unsure;
  context.findings.add(RuleId::kBi05, e, [&] {
    return fmt::format("reverse Call {:#010x} before the client said that it takes any", m.xid);
  });
}

void check_reverse_version(const model::Message& m, const CheckContext& context) {
  const std::uint32_t seen = context.history.forward_versions;
  if (seen == 0 || m.version > 31 || (seen >> m.version & 1) != 0) return;
  context.findings.add(RuleId::kBi02, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("reverse Call {:#010x} has rdma_vers {}, no forward Call has", m.xid,
                       m.version);
  });
}

}  // namespace

void check_reverse(const model::Message& m, const CheckContext& context) {
  check_msg_type(m, context);
  if (!context.model.client_certain) return;
  if (m.kind == Kind::kCall && context.reverse) {
    check_ready(m, context);
    check_reverse_version(m, context);
  } else if (m.kind == Kind::kCall) {
    if (m.version <= 31) context.history.forward_versions |= 1U << m.version;
    note_ready(m, context.history);
    context.history.latest_forward_call = m.id;
  } else if (m.kind == Kind::kReply || m.kind == Kind::kError) {
    note_ready_answered(m, context.history);
  }
}

// Silence for a Call with chunks, by a client that goes on with its own Calls.
void check_reverse_end(const model::Call& call, const model::Message* answer,
                       const CheckContext& context) {
  if (!context.reverse || !context.model.client_certain || answer != nullptr) return;
  if (call.segments.empty() || context.history.latest_forward_call < call.message.id) return;
  // Where the capture merely ends the answer may have come later.
  constexpr std::int64_t kSilentNs = 1'000'000'000;
  const bool given_up = call.ending == model::Ending::kSuperseded ||
                        (call.ending == model::Ending::kClosed &&
                         (context.connection.state == roce::State::kClosed ||
                          context.connection.last_ns - call.message.time_ns >= kSilentNs));
  if (!given_up || call.first_op_ns >= 0) return;
  Evidence e = evidence(call.message, context.connection, 1 - call.message.sender);
  e.losses_before = call.losses_before;
  e.unsure = context.history.messages_unsure;
  e.needs = kOperations;
  context.findings.add(RuleId::kBi04, e, [&] {
    return fmt::format("no ERR_CHUNK and no other answer to reverse Call {:#010x} with chunks",
                       call.message.xid);
  });
}

}  // namespace rpcrdma::rules
