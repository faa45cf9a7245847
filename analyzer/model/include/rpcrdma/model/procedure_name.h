// Names of RPCs in reports and findings.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/text_buffer.h>
#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// "NFS v4 COMPOUND SEQUENCE PUTFH READ", "NFS v3 GETATTR", "program 395180 v1 procedure 7"; empty
// if the program is not known.
[[nodiscard]] std::string rpc_label(const RpcInfo& rpc);
void put_rpc_label(base::TextBuffer& out, const RpcInfo& rpc);

// The name for statistics: as above, but for a COMPOUND only its principal operation: "NFS v4
// READ".
[[nodiscard]] std::string procedure_label(const RpcInfo& rpc);
// The number of that operation; UINT32_MAX if it is no COMPOUND, or too little of the COMPOUND was
// captured.
[[nodiscard]] std::uint32_t principal_operation(const RpcInfo& rpc);
// Whether an operation of a COMPOUND, or of a CB_COMPOUND, does not describe its purpose.
[[nodiscard]] bool is_auxiliary(std::uint32_t op, bool callback);

}  // namespace rpcrdma::model
