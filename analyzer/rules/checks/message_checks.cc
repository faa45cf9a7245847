// Calls the groups of checks for one message, or for an answer and its Call, in order. Chunk lists
// that are truncated in the capture are not checked.
#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

void check_version(const model::Message& m, const model::Call& call, const CheckContext& context) {
  if (m.kind == Kind::kError && m.error == wire::RdmaErr::kVers) {
    return check_refused_version(m, call.message.version, pair_evidence(m, call, context), context);
  }
  if (m.version == call.message.version) return;
  // A responder that sends an error in its own version does not support the Call's.
  if (m.kind == Kind::kError && m.version == 1) {
    return context.findings.add(RuleId::kErr05, pair_evidence(m, call, context), [&] {
      return fmt::format(
          "the responder refused a Call of version {} with {} of version 1 instead of ERR_VERS",
          call.message.version,
          wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error)));
    });
  }
  context.findings.add(RuleId::kHdr04, pair_evidence(m, call, context), [&] {
    return fmt::format("rdma_vers is {} in the Call but {} in its answer", call.message.version,
                       m.version);
  });
}

// Checks that the error code of an RDMA_ERROR is possible for a Call that can be parsed.
void check_refusal(const model::Message& m, const model::Call& call, const CheckContext& context) {
  const model::Message& refused = call.message;
  const auto add = [&](const char* why) {
    context.findings.add(
        refused.version == 2 ? RuleId::kV208 : RuleId::kErr05, pair_evidence(m, call, context),
        [&] {
          return fmt::format(
              "the responder refused a Call of version {} with {}, {}", refused.version,
              wire::rdma_err_name(m.version, static_cast<std::uint32_t>(m.error)), why);
        });
  };
  if (m.error == wire::RdmaErr::kVers) {
    if (m.vers_low <= refused.version && refused.version <= m.vers_high) {
      add("but states support for this version");
    }
  } else if (m.version == 2 && m.error == wire::RdmaErr::kInvalProc) {
    add("but its rdma_proc is valid");
  } else if (m.version == 2 && m.error == wire::RdmaErr::kInvalOption &&
             !model::is_option(refused)) {
    add("but it has no option");
  }
}

void check_call(const model::Message& m, const model::Call& call, const CheckContext& context,
                Scratch& scratch) {
  check_read_list(m, context, scratch);
  check_offered_reply_chunk(m, context);
  check_segments(m, call, context, scratch);
}

void check_pair(const model::Message& m, const model::Call& call, const CheckContext& context,
                Scratch& scratch) {
  check_version(m, call, context);
  if (m.kind == Kind::kError) check_refusal(m, call, context);
  check_roundup_accepted(m, call, context, scratch);
  // An option has no chunk lists.
  if (m.kind != Kind::kReply || model::is_option(m)) return;
  check_write_list(m, call, context);
  check_results(m, call, context, scratch);
  check_reply_chunk(m, call, context);
}

}  // namespace

Evidence pair_evidence(const model::Message& answer, const model::Call& call,
                       const CheckContext& context) {
  Evidence e = evidence(answer, context.connection, answer.sender);
  e.frames = {call.message.frame, answer.frame};
  e.losses_before = call.losses_before;
  e.suspect = answer.suspect || call.message.suspect;
  return e;
}

void check_message(const model::Message& m, const model::Call* call, const CheckContext& context,
                   Scratch& scratch) {
  // Its header was not sent in this form.
  if (model::is_absent(m, roce::kAbsentBytes)) return;
  check_header(m, call, context);
  if (m.header_length == 0) return;
  check_version2(m, call, context);
  check_roundup(m, call, context, scratch);
  if (m.kind == Kind::kCall) {
    if (call != nullptr) check_call(m, *call, context, scratch);
    return;
  }
  if (m.kind == Kind::kReply) {
    check_reply_reads(m, context);
    check_used_reply_chunk(m, context);
  } else if (m.kind == Kind::kError) {
    check_error(m, context);
  }
  const bool answers = m.kind == Kind::kReply || m.kind == Kind::kError;
  // With two Calls of one XID it is not known which Call it answers (HDR-09).
  if (answers && call != nullptr && !call->doubled && call->message.header_length != 0) {
    check_pair(m, *call, context, scratch);
  }
}

}  // namespace rpcrdma::rules
