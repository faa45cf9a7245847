// Finds out whose fault a Remote Access Error is: the requester advertised memory that its adapter
// does not know, or the responder accessed other memory.
#include "checks.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

namespace {

bool just_offered(const roce::Operation& op, const model::CallSegment& segment) {
  const bool reads = op.kind == roce::OpKind::kRead;
  const bool fits = reads == model::is_read_list(segment.list);
  // The same memory may also be in another list.
  if (!fits && segment.shared == model::Shared::kNo) return false;
  const std::uint64_t into = op.offset - segment.target.offset;  // huge when below
  return into <= segment.target.length && op.length <= segment.target.length - into;
}

std::uint32_t last_psn(const roce::Operation& op, const roce::Connection& c) {
  if (op.length == 0 || c.path_mtu == 0) return op.psn;
  return roce::psn_add(op.psn, (op.length - 1) / c.path_mtu);
}

Refused access_of(const SentOperation& op) {
  if (op.offered) return Refused::kOffered;
  return op.certain ? Refused::kNotOffered : Refused::kNotKnown;
}

// An endpoint does not report PSNs: the refused operation is one of those that were sent.
Refused access_of_any(const std::vector<SentOperation>& sent) {
  if (sent.empty()) return Refused::kNotKnown;
  const auto other = std::find_if(
      sent.begin(), sent.end(), [](const auto& op) { return access_of(op) != Refused::kOffered; });
  return other == sent.end() ? Refused::kOffered : access_of(*other);
}

Refused access_at(const std::vector<SentOperation>& sent, std::uint32_t psn,
                  const CheckContext& context) {
  const auto it = std::find_if(sent.begin(), sent.end(), [psn](const SentOperation& op) {
    return roce::psn_diff(psn, op.psn) >= 0 && roce::psn_diff(op.last_psn, psn) >= 0;
  });
  if (it != sent.end()) return access_of(*it);
  // The refused request is a Send that invalidates memory that was not advertised, provided that
  // the capture is complete.
  const bool whole = model::losses(context.connection) == 0 && lists_unsure(context) == nullptr;
  return whole ? Refused::kNotOffered : Refused::kNotKnown;
}

}  // namespace

void note_operation(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                    const CheckContext& context) {
  SideHistory& side = context.history.side[op.initiator];
  SentOperation sent;
  sent.psn = op.psn;
  sent.last_psn = last_psn(op, context.connection);
  sent.offered = call != nullptr && just_offered(op, call->segments[segment]);
  sent.certain = model::losses(context.connection) == 0 && lists_unsure(context) == nullptr;
  if (side.operations.size() < SideHistory::kMostOperations) {
    side.operations.push_back(sent);
    return;
  }
  side.operations[side.operations_next] = sent;
  side.operations_next = (side.operations_next + 1) % SideHistory::kMostOperations;
}

void note_refused(int initiator, wire::NakCode code, std::uint32_t psn,
                  const CheckContext& context) {
  SideHistory& side = context.history.side[static_cast<std::size_t>(initiator)];
  if (side.refused_operation != Refused::kNone) return;
  if (code == wire::NakCode::kRemoteOperational) {
    side.refused_operation = Refused::kPeerFailed;
  } else if (code == wire::NakCode::kRemoteAccess) {
    side.refused_operation = context.connection.recorded ? access_of_any(side.operations)
                                                         : access_at(side.operations, psn, context);
  }
}

}  // namespace rpcrdma::rules
