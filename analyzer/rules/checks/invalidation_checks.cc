// Checks which side may use Send With Invalidate, and for which handle.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;

void check_agreed(const model::Message& m, const CheckContext& context) {
  if (m.version != 1 || !setup_seen(context.connection)) return;
  const auto takes = [&](std::size_t side) {
    return context.model.has_private_data[side] &&
           context.model.private_data[side].remote_invalidation();
  };
  if (takes(1U - m.sender)) {
    if (takes(m.sender)) return;
    // Linux servers check only their peer's R. This is harmless.
    Evidence e = evidence(m, context.connection, m.sender);
    e.topic = 1;
    e.at_most = Level::kNote;
    return context.findings.add(
        RuleId::kInv01, e,
        [] {
          return std::string(
              "the sender used Send With Invalidate without setting R itself; its peer set R");
        },
        "No action needed: the peer accepts Remote Invalidation. Linux servers behave like this.");
  }
  context.findings.add(RuleId::kInv01, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("the sender invalidated handle {:#010x} of a peer that did not set R",
                       m.invalidated_handle);
  });
}

void check_kind(const model::Message& m, const CheckContext& context) {
  const bool reverse_v1 = context.reverse && m.version == 1 && context.model.client_certain;
  if (m.kind == Kind::kReply && !reverse_v1) return;
  // What the capture truncated may be without its RPC direction.
  if (m.kind == Kind::kMalformed || !m.complete) return;
  context.findings.add(RuleId::kInv03, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("the Send With Invalidate of {:#010x} conveys {}", m.invalidated_handle,
                       m.kind == Kind::kReply   ? "a Reply of the reverse direction"
                       : m.kind == Kind::kError ? "an RDMA_ERROR"
                                                : model::kind_name(m.kind));
  });
}

bool invalidated_before(const model::Message& m, const model::Call& call,
                        const CheckContext& context) {
  return std::any_of(
      context.history.ended.begin(), context.history.ended.end(), [&](const EndedSegment& s) {
        return s.invalidated && s.owner == m.caller && s.target.handle == m.invalidated_handle &&
               s.end_message > call.message.id;
      });
}

void check_handle(const model::Message& m, const model::Call& call, const CheckContext& context) {
  if (call.message.header_length == 0) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.frames = {call.message.frame, m.frame};
  e.unsure = context.history.lists_unsure;
  const bool own = std::any_of(
      call.segments.begin(), call.segments.end(),
      [&](const model::CallSegment& s) { return s.target.handle == m.invalidated_handle; });
  if (!own) {
    context.findings.add(RuleId::kInv02, e, [&] {
      return fmt::format("Reply {:#010x} invalidates {:#010x}, which is no handle of its Call",
                         m.xid, m.invalidated_handle);
    });
  } else if (invalidated_before(m, call, context)) {
    e.topic = 1;
    context.findings.add(RuleId::kInv02, e, [&] {
      return fmt::format("Reply {:#010x} invalidates {:#010x} after another Reply invalidated it",
                         m.xid, m.invalidated_handle);
    });
  }
}

// Fewer Replies do not show whether the responder ever invalidates.
constexpr std::uint64_t kEnoughReplies = 4;

// Counts Replies to version 2 Calls that name a handle to invalidate.
void note_named_handle(const model::Message& m, const model::Call& call,
                       const CheckContext& context) {
  const model::Message& asked = call.message;
  if (asked.version != 2 || asked.header_length == 0 || asked.inv_handle == 0) return;
  if (m.version != 2 || m.header_length == 0 || model::is_absent(m, roce::kAbsentInvalidation)) {
    return;
  }
  NamedHandles& named = context.history.note_rare().named_handles[m.sender];
  ++named.replies;
  if (m.has_invalidate) ++named.invalidated;
  if (named.first_frame == 0) named.first_frame = m.frame;
  named.last_frame = m.frame;
}

}  // namespace

void check_invalidated_ever(const CheckContext& context) {
  if (context.history.rare == nullptr) return;
  for (std::size_t side = 0; side < 2; ++side) {
    const NamedHandles& named = context.history.rare->named_handles[side];
    if (named.replies < kEnoughReplies || named.invalidated != 0) continue;
    Evidence e;
    e.connection = &context.connection;
    e.side = static_cast<int>(side);
    e.frames = {named.first_frame, named.last_frame};
    context.findings.add(RuleId::kV212, e, [&] {
      return fmt::format(
          "none of {} Replies invalidates the handle that rdma_inv_handle of its Call names",
          named.replies);
    });
  }
}

void check_invalidation(const model::Message& m, const model::Call* call,
                        const CheckContext& context) {
  if (m.kind == Kind::kReply && call != nullptr) note_named_handle(m, *call, context);
  if (!m.has_invalidate) return;
  check_agreed(m, context);
  check_kind(m, context);
  if (m.kind == Kind::kReply && call != nullptr) check_handle(m, *call, context);
}

}  // namespace rpcrdma::rules
