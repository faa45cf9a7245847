// How an RPC ended, in a word.
#pragma once

#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// The name of `rpc.status` in the version of NFS that it belongs to: "NFS4ERR_NOENT"; null when it
// has none.
[[nodiscard]] const char* nfs_status_name(const RpcInfo& rpc);

// Of a Reply whose RPC header was seen: "ok", an NFS status that is not OK, or why the RPC failed,
// such as "PROG_MISMATCH"; null for an NFS status without a name.
[[nodiscard]] const char* outcome_name(const RpcInfo& rpc);

}  // namespace rpcrdma::model
