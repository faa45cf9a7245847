#include <rpcrdma/model/outcome.h>

namespace rpcrdma::model {

bool has_nfs_status(const RpcInfo& rpc) {
  return rpc.known &&
         (rpc.program == decode::kProgNfs || rpc.program == decode::kProgNfsAcl ||
          (decode::is_transient_program(rpc.program) && rpc.procedure == 1)) &&
         rpc.procedure != 0;
}

const char* nfs_status_name(const RpcInfo& rpc) {
  const bool v4 = rpc.program != decode::kProgNfsAcl &&
                  (rpc.version >= 4 || decode::is_transient_program(rpc.program));
  return v4 ? decode::nfs4_status_name(rpc.status) : decode::nfs3_status_name(rpc.status);
}

const char* outcome_name(const RpcInfo& rpc) {
  if (rpc.reply_stat == wire::ReplyStat::kDenied) {
    return wire::reject_stat_name(static_cast<std::uint32_t>(rpc.reject_stat));
  }
  if (rpc.accept_stat != wire::AcceptStat::kSuccess) {
    return wire::accept_stat_name(static_cast<std::uint32_t>(rpc.accept_stat));
  }
  if (rpc.has_status) return rpc.status != 0 ? nfs_status_name(rpc) : "ok";
  const char* const unread = decode::wrapping_name(rpc.wrapping);
  return unread != nullptr && has_nfs_status(rpc) ? unread : "ok";
}

}  // namespace rpcrdma::model
