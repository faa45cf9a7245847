#include "checks.h"

#include <fmt/format.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

// The decoder says itself which rule the bytes break.
void check_decodes(const model::Message& m, const Scene& scene) {
  if (!m.malformed) return;
  const Rule* broken = find_rule(m.malformed->rule);
  scene.findings.add(
      broken != nullptr ? broken->id : RuleId::kHdr06, evidence(m, scene.connection, m.sender),
      [&] { return fmt::format("malformed transport header: {}", wire::describe(*m.malformed)); });
}

void check_xid(const model::Message& m, const Scene& scene) {
  if (!m.rpc_xid || *m.rpc_xid == m.xid) return;
  scene.findings.add(RuleId::kHdr02, evidence(m, scene.connection, m.sender), [&] {
    return fmt::format("rdma_xid is {:#010x}, the XID of its RPC message {:#010x}", m.xid,
                       *m.rpc_xid);
  });
}

}  // namespace

void check_header(const model::Message& m, const Scene& scene) {
  check_decodes(m, scene);
  check_xid(m, scene);
}

}  // namespace rpcrdma::rules
