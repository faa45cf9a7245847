// Checks version 2 with a peer that does not support it (draft-cel-nfsv4-rpcrdma-version-two-02
// section 6.2).
#include "checks.h"

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

void note_range(const model::Message& m, const CheckContext& context) {
  if (m.error != wire::RdmaErr::kVers || m.vers_low > m.vers_high) return;
  context.history.versions[m.caller] = {m.vers_low, m.vers_high, m.frame};
}

}  // namespace

// Only one Call may be in flight while versions are negotiated: a requester that keeps to that has
// received the ERR_VERS before it sends the next Call.
void check_negotiation(const model::Message& m, bool within_credit, const CheckContext& context) {
  if (m.kind == model::Kind::kError) return note_range(m, context);
  const RangeOffered& offered = context.history.versions[m.caller];
  if (offered.frame == 0 || m.kind != model::Kind::kCall || !within_credit) return;
  if (m.version >= offered.low && m.version <= offered.high) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.frames = {offered.frame, m.frame};
  e.unsure = context.history.messages_unsure;
  context.findings.add(RuleId::kV207, e, [&] {
    return fmt::format(
        "the requester sent Call {:#010x} in version {} after an ERR_VERS that states {} to {}",
        m.xid, m.version, offered.low, offered.high);
  });
}

}  // namespace rpcrdma::rules
