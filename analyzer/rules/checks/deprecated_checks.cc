// Checks features of RFC 5666 that RFC 8166 removed: RDMA_MSGP and the Connection Configuration
// Protocol. For RDMA_DONE see answer_checks.cc.
#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::rules {

namespace {

bool is_configuration(const model::RpcInfo& rpc) {
  return rpc.known && rpc.program == decode::kProgRdmaConfig;
}

void check_msgp(const model::Message& m, const CheckContext& context) {
  if (m.version != 1 || m.proc != static_cast<std::uint32_t>(wire::Proc::kMsgp)) return;
  if (context.findings.profile() == Profile::k5666) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.topic = 1;
  context.findings.add(RuleId::kDep01, e, [] { return std::string("the sender used RDMA_MSGP"); });
}

void note_asked(const model::Message& m, AgreedConfiguration& agreed) {
  const auto rpc = wire::decode_rpc(m.payload);
  if (!rpc || rpc->type != wire::MsgType::kCall) return;
  const auto request = wire::decode_rdmaconfig_request(m.payload.subspan(rpc->length));
  if (!request) return;
  agreed.asked_reads = request->maxrdmaread;
  agreed.asked_xid = m.xid;
}

void note_agreed(const model::Message& m, const CheckContext& context,
                 AgreedConfiguration& agreed) {
  const auto rpc = wire::decode_rpc(m.payload);
  if (!rpc || rpc->type != wire::MsgType::kReply) return;
  const auto reply = wire::decode_rdmaconfig_reply(m.payload.subspan(rpc->length));
  if (!reply) return;
  agreed.frame = m.frame;
  agreed.max_call = reply->maxcall_sendsize;
  agreed.max_reads = reply->maxrdmaread;
  RareHistory& history = context.history.note_rare();
  history.agreed_reads[m.caller] = {reply->maxrdmaread, m.frame};
  AgreedReads& server = history.agreed_reads[1U - m.caller];
  server = {};
  if (agreed.asked_reads && agreed.asked_xid == m.xid) server = {*agreed.asked_reads, m.frame};
}

void check_kept(const model::Message& m, const CheckContext& context,
                const AgreedConfiguration& agreed) {
  Evidence e = evidence(m, context.connection, m.sender);
  e.frames = {agreed.frame, m.frame};
  if (m.wire_length > agreed.max_call) {
    note_faulty(m, context);
    context.findings.add(RuleId::kDep02, e, [&] {
      return fmt::format("a Call has {} bytes, but maxcall_sendsize is {}", m.wire_length,
                         agreed.max_call);
    });
  }
  if (agreed.max_reads == 0 && !m.reads.empty()) {
    note_faulty(m, context);
    e.topic = 1;
    context.findings.add(RuleId::kDep02, e, [] {
      return std::string("a Call has Read chunks, but maxrdmaread is 0");
    });
  }
}

}  // namespace

void check_identified_program(const model::Call& call, const CheckContext& context) {
  const model::Message& m = call.message;
  if (context.findings.profile() != Profile::k8166 || !is_configuration(m.rpc)) return;
  context.findings.add(RuleId::kDep02, evidence(m, context.connection, m.sender), [] {
    return std::string("the requester used the Connection Configuration Protocol");
  });
}

void check_deprecated(const model::Message& m, const model::Call* call, const CheckContext& context,
                      AgreedConfiguration& agreed) {
  check_msgp(m, context);
  const bool configures = call != nullptr && is_configuration(call->message.rpc);
  if (context.findings.profile() == Profile::k8166) {
    if (configures && m.kind == model::Kind::kCall) check_identified_program(*call, context);
  }
  if (context.reverse) return;
  if (configures && m.kind == model::Kind::kCall) note_asked(m, agreed);
  if (configures && m.kind == model::Kind::kReply) note_agreed(m, context, agreed);
  if (context.findings.profile() == Profile::k8166) return;
  if (agreed.frame != 0 && m.kind == model::Kind::kCall) check_kept(m, context, agreed);
}

}  // namespace rpcrdma::rules
