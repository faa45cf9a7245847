#include <rpcrdma/model/outcome.h>

namespace rpcrdma::model {

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
  return rpc.has_status && rpc.status != 0 ? nfs_status_name(rpc) : "ok";
}

}  // namespace rpcrdma::model
