// The outcome of an RPC in a word.
#pragma once

#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// Returns the name of `rpc.status` in its version of NFS: "NFS4ERR_NOENT"; null if it has no name.
[[nodiscard]] const char* nfs_status_name(const RpcInfo& rpc);

// Returns whether the results of its procedure begin with an NFS status.
[[nodiscard]] bool has_nfs_status(const RpcInfo& rpc);

// Describes a Reply whose RPC header was seen: "ok", an NFS status other than OK, why the status
// cannot be read, such as "encrypted (krb5p)", or why the RPC failed, such as "PROG_MISMATCH"; null
// for an NFS status without a name.
[[nodiscard]] const char* outcome_name(const RpcInfo& rpc);

}  // namespace rpcrdma::model
