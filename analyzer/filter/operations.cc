#include "operations.h"

#include "suggest.h"

#include <algorithm>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::filter {

namespace {

using decode::FieldId;

constexpr std::uint32_t kLastProcedure = 21;  // of NFS version 3
constexpr std::uint32_t kLastOperation = 127;

std::uint64_t operation_number(std::string_view name) {
  for (std::uint32_t op = 0; op <= kLastOperation; ++op) {
    const char* const known = decode::nfs4_op_name(op, false);
    if (known != nullptr && name == known) return op;
  }
  return kNameOnly;
}

}  // namespace

const std::vector<decode::ValueName>& early_nfs_procedures() {
  static const std::vector<decode::ValueName> names = [] {
    std::vector<decode::ValueName> list;
    for (const std::uint32_t version : {2U, 3U}) {
      for (std::uint32_t procedure = 0; procedure <= kLastProcedure; ++procedure) {
        const char* const name = decode::procedure_name(decode::kProgNfs, version, procedure);
        if (name != nullptr) list.push_back({procedure, name});
      }
    }
    return list;
  }();
  return names;
}

void add_operations(const model::Message& m, const FieldSet& wanted, Values& values) {
  const auto asks = [&](FieldId id) { return wanted[static_cast<std::size_t>(id)]; };
  const bool procedures = asks(FieldId::kRpcProcedure) || asks(FieldId::kRpcProcedureName);
  if (!procedures && !asks(FieldId::kNfsOp)) return;
  if ((m.kind != model::Kind::kCall && m.kind != model::Kind::kReply) || !m.rpc.known) return;
  const model::RpcInfo& rpc = m.rpc;
  const bool nfs = rpc.program == decode::kProgNfs;
  if (nfs && rpc.version < 4) {
    const char* const name = decode::procedure_name(rpc.program, rpc.version, rpc.procedure);
    if (name != nullptr && asks(FieldId::kNfsOp)) {
      values.number(FieldId::kNfsOp, 0, 0, operation_number(name), name);
    }
    return;
  }
  if (!procedures || (!nfs && !decode::is_transient_program(rpc.program))) return;
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
    const char* const name = decode::nfs4_op_name(rpc.ops.op[i], !nfs);
    if (name == nullptr) continue;
    if (asks(FieldId::kRpcProcedure)) {
      values.number(FieldId::kRpcProcedure, 0, 0, kNameOnly, name);
    }
    if (asks(FieldId::kRpcProcedureName)) values.text(FieldId::kRpcProcedureName, 0, 0, name);
  }
}

}  // namespace rpcrdma::filter
