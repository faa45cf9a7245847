// Checks Calls by the RPC server (RFC 8167). The server is known for certain only if the set-up was
// captured or RDMA was used; otherwise these checks do nothing.
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

// Checks msg_type: with the sender, it determines the direction of a message.
void check_msg_type(const model::Message& m, const CheckContext& context) {
  const bool conveys = m.proc == static_cast<std::uint32_t>(wire::Proc::kMsg) ||
                       m.proc == static_cast<std::uint32_t>(wire::Proc::kMsgp);
  if (m.version != 1 || !conveys || m.header_length == 0 || m.payload.size() < 8) return;
  const std::uint32_t type = wire::load_be32(m.payload.data() + 4);
  if (type <= 1 || wire::load_be32(m.payload.data()) != m.xid) return;
  context.findings.add(RuleId::kBi03, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("the msg_type of RPC message {:#010x} is {}", m.xid, type);
  });
}

// Whether a forward Call announces that the client accepts reverse Calls. A Call that cannot be
// decoded may do so, and so may any Call of a program other than NFS version 4.
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
  // The status of a COMPOUND shows only for the last operation whether it failed.
  return sets_up(ops.op[ops.kept - 1U]) ? Ready::kAsks : Ready::kMay;
}

void note_ready(const model::Message& m, ConnectionHistory& h) {
  if (h.ready_for_reverse && h.ready_frame == 0) return;
  const Ready ready = announces_ready(m);
  if (ready == Ready::kNo) return;
  // Only one announcement without a Reply can be tracked.
  h.ready_frame = ready == Ready::kAsks && !h.ready_for_reverse ? m.frame : 0;
  h.ready_for_reverse = true;
}

// An announcement that the server refuses has no effect.
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
    return fmt::format(
        "the server sent reverse Call {:#010x} before the client had shown that it accepts any",
        m.xid);
  });
}

void check_reverse_version(const model::Message& m, const CheckContext& context) {
  const std::uint32_t seen = context.history.forward_versions;
  if (seen == 0 || m.version > 31 || (seen >> m.version & 1) != 0) return;
  context.findings.add(RuleId::kBi02, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("reverse Call {:#010x} has rdma_vers {}, unlike every forward Call", m.xid,
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

// Checks for a Call with chunks that the client ignores while it continues to send its own Calls.
void check_reverse_end(const model::Call& call, const model::Message* answer,
                       const CheckContext& context) {
  if (!context.reverse || !context.model.client_certain || answer != nullptr) return;
  if (call.segments.empty() || context.history.latest_forward_call < call.message.id) return;
  // If the capture ends before the connection, the answer may follow later.
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
    return fmt::format(
        "the client sent neither ERR_CHUNK nor a Reply for reverse Call {:#010x} with chunks",
        call.message.xid);
  });
}

}  // namespace rpcrdma::rules
