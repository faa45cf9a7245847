// Checks the content of an RDMA_ERROR, and the Call that it refuses.
#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::rules {

namespace {

using wire::RdmaErr;

void check_length(const model::Message& m, const CheckContext& context) {
  if (m.version != 1 || !m.complete || m.wire_length == m.header_length) return;
  const RuleId id = m.error == RdmaErr::kVers ? RuleId::kErr02 : RuleId::kErr03;
  context.findings.add(id, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("an {} has {} bytes instead of {}",
                       wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error)),
                       m.wire_length, m.header_length);
  });
}

void check_range(const model::Message& m, const CheckContext& context) {
  if (m.error != RdmaErr::kVers) return;
  if (m.vers_low <= m.vers_high) return;
  const RuleId id = m.version == 2 ? RuleId::kV211 : RuleId::kErr02;
  context.findings.add(id, evidence(m, context.connection, m.sender), [&] {
    return fmt::format(
        "an RDMA_ERROR states {} as the lowest supported version and {} as the "
        "highest",
        m.vers_low, m.vers_high);
  });
}

bool refused_as_unreadable(const model::Message& answer) {
  if (answer.kind == model::Kind::kError) return answer.error == RdmaErr::kChunk;
  return answer.rpc.header_seen && answer.rpc.reply_stat == wire::ReplyStat::kAccepted &&
         answer.rpc.accept_stat == wire::AcceptStat::kGarbageArgs;
}

}  // namespace

void check_refused_version(const model::Message& m, std::uint32_t refused, const Evidence& evidence,
                           const CheckContext& context) {
  const bool own = m.version >= m.vers_low && m.version <= m.vers_high;
  if (own || m.vers_low > m.vers_high) return;
  if (m.version == refused) {
    Evidence e = evidence;
    e.topic = 2;
    e.side = -1;  // nobody is at fault
    return context.findings.add(
        RuleId::kErr04, e,
        [&] {
          return fmt::format(
              "an ERR_VERS has rdma_vers {}, as the message that it refuses, and states support "
              "for {} to {}",
              m.version, m.vers_low, m.vers_high);
        },
        "No action needed: RFC 8166 section 4.5 and version 2 have an error copy rdma_vers, as "
        "Linux servers do. A requester must accept an ERR_VERS with any rdma_vers.");
  }
  context.findings.add(RuleId::kErr04, evidence, [&] {
    return fmt::format(
        "an ERR_VERS for a message of version {} has rdma_vers {} and states support for {} to {}",
        refused, m.version, m.vers_low, m.vers_high);
  });
}

void check_error(const model::Message& m, const CheckContext& context) {
  check_length(m, context);
  check_range(m, context);
}

void check_roundup_accepted(const model::Message& m, const model::Call& call,
                            const CheckContext& context, Scratch& s) {
  if (call.message.reads.empty() || !refused_as_unreadable(m)) return;
  // A responder that does not support chunks in reverse Calls, or RDMA_MSGP, refuses them.
  if (context.reverse || call.message.proc == static_cast<std::uint32_t>(wire::Proc::kMsgp)) return;
  // A chunk for results may have been too short.
  if (call.message.has_reply_chunk || !call.message.write_counts.empty()) return;
  if (context.history.faulty.has(call.message.id)) return;
  join_read_chunks(call.message.reads, s.reads);
  const ReadChunk& c = s.reads.front();
  // Only a Call with a single, otherwise valid chunk counts: anything else may be the reason.
  if (s.reads.size() != 1 || c.position == 0 || c.position % 4 != 0) return;
  const bool with_roundup = context.history.with_roundup.has(call.message.id);
  if (c.length % 4 == 0 && !with_roundup) return;
  context.findings.add(RuleId::kRd11, pair_evidence(m, call, context), [&] {
    return fmt::format(
        "the responder refused a Call with a Read chunk of {} bytes, {} roundup: {}", c.length,
        with_roundup ? "including" : "without",
        m.kind == model::Kind::kError ? wire::rdma_err_name(m.version, 2) : "GARBAGE_ARGS");
  });
}

}  // namespace rpcrdma::rules
