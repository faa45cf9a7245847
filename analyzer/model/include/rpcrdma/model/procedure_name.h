// What an RPC is called in reports and findings.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// "NFS v4 COMPOUND SEQUENCE PUTFH READ", "NFS v3 GETATTR", "program 395180 v1 procedure 7"; empty
// when the program is not known.
[[nodiscard]] std::string rpc_label(const RpcInfo& rpc);

// What a procedure's statistics go under: as above, but of a COMPOUND only the operation that it is
// about: "NFS v4 READ".
[[nodiscard]] std::string procedure_label(const RpcInfo& rpc);
// That operation's number; UINT32_MAX for what is no COMPOUND, or a COMPOUND of which too little
// was captured.
[[nodiscard]] std::uint32_t principal_operation(const RpcInfo& rpc);

}  // namespace rpcrdma::model
