// How an RPC ended, in a word.
#pragma once

#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// The name of `rpc.status` in the version of NFS that it belongs to: "NFS4ERR_NOENT"; null when it
// has none.
[[nodiscard]] const char* nfs_status_name(const RpcInfo& rpc);

// Whether the results of its procedure begin with an NFS status.
[[nodiscard]] bool has_nfs_status(const RpcInfo& rpc);

// Of a Reply whose RPC header was seen: "ok", an NFS status that is not OK, why that cannot be
// read, such as "encrypted (krb5p)", or why the RPC failed, such as "PROG_MISMATCH"; null for an
// NFS status without a name.
[[nodiscard]] const char* outcome_name(const RpcInfo& rpc);

}  // namespace rpcrdma::model
