// Checks the header fields that version 2 adds (draft-cel-nfsv4-rpcrdma-version-two-02 section
// 5.2).
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

const char* name(wire::MsgType type) {
  return type == wire::MsgType::kCall ? "CALL" : "REPLY";
}

// Checks rdma_direction and rdma_optdir.
void check_direction(const model::Message& m, const CheckContext& context) {
  const bool long_message = m.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg);
  // An RDMA2_ERROR always has the direction of a Reply.
  const wire::MsgType reported = m.kind == Kind::kError ? wire::MsgType::kReply : m.direction;
  wire::MsgType shown = m.kind == Kind::kCall ? wire::MsgType::kCall : wire::MsgType::kReply;
  if (!long_message) {
    if (m.payload.size() < 8) return;
    const std::uint32_t type = wire::load_be32(m.payload.data() + 4);
    // Only an RPC message has a msg_type, and anything may follow an OPTIONAL.
    if (type > 1 || wire::load_be32(m.payload.data()) != m.xid) return;
    shown = static_cast<wire::MsgType>(type);
  }
  if (shown == reported) return;
  context.history.misdirected.note(m.id);
  context.findings.add(RuleId::kV202, evidence(m, context.connection, m.sender), [&] {
    return long_message
               ? fmt::format("the header states direction {}, but has the chunk of a long {}",
                             name(reported), name(shown))
               : fmt::format("the header states direction {}, but the msg_type is {}",
                             name(reported), name(shown));
  });
}

void check_own_handle(const model::Message& m, const model::Call& call,
                      const CheckContext& context) {
  if (m.inv_handle == 0) return;
  if (std::any_of(call.segments.begin(), call.segments.end(),
                  [&](const model::CallSegment& s) { return s.target.handle == m.inv_handle; })) {
    return;
  }
  context.findings.add(RuleId::kV203, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("rdma_inv_handle is {:#010x}, which is no handle of the Call", m.inv_handle);
  });
}

void check_copied_handle(const model::Message& m, const model::Call& call,
                         const CheckContext& context) {
  // An option has no rdma_inv_handle.
  const bool has_both = !model::is_option(m) && !model::is_option(call.message);
  if (has_both && m.inv_handle != call.message.inv_handle) {
    context.findings.add(RuleId::kV204, pair_evidence(m, call, context), [&] {
      return fmt::format("rdma_inv_handle is {:#010x} in the Call but {:#010x} in the Reply",
                         call.message.inv_handle, m.inv_handle);
    });
  }
  if (!m.has_invalidate ||
      (call.message.inv_handle != 0 && m.invalidated_handle == call.message.inv_handle)) {
    return;
  }
  Evidence e = pair_evidence(m, call, context);
  e.topic = 1;
  context.findings.add(RuleId::kV204, e, [&] {
    return fmt::format(
        "the Reply invalidates {:#010x}, but rdma_inv_handle of its Call is {:#010x}",
        m.invalidated_handle, call.message.inv_handle);
  });
}

// Returns the `n`-th segment for results, counted from 1; null: the Call has fewer.
const wire::Segment* result_segment(const model::Message& call, std::uint32_t n) {
  const std::size_t i = n - 1;
  if (i < call.write_segments.size()) return &call.write_segments[i];
  const std::size_t j = i - call.write_segments.size();
  return j < call.reply_segments.size() ? &call.reply_segments[j] : nullptr;
}

void check_cant_reply(const model::Message& m, const model::Call& call,
                      const CheckContext& context) {
  if (m.error != wire::RdmaErr::kCantReply || m.segment_index == 0) return;
  const wire::Segment* s = result_segment(call.message, m.segment_index);
  if (s != nullptr && m.length_needed > s->length) return;
  context.findings.add(RuleId::kV209, pair_evidence(m, call, context), [&] {
    return s == nullptr
               ? fmt::format(
                     "the error states that segment {} is too short, but the Call has only {}",
                     m.segment_index,
                     call.message.write_segments.size() + call.message.reply_segments.size())
               : fmt::format(
                     "the error states that segment {} is too short for {} bytes, but it "
                     "has {}",
                     m.segment_index, m.length_needed, s->length);
  });
}

}  // namespace

void check_version2(const model::Message& m, const model::Call* call, const CheckContext& context) {
  if (m.version != 2) return;
  check_direction(m, context);
  if (call == nullptr) return;
  if (m.kind == Kind::kCall) return check_own_handle(m, *call, context);
  if (call->message.header_length == 0 || call->message.version != 2) return;
  if (m.kind == Kind::kReply) check_copied_handle(m, *call, context);
  if (m.kind == Kind::kError) check_cant_reply(m, *call, context);
}

}  // namespace rpcrdma::rules
