// Decodes the RPC part of a message, for decode_message() and decode_rpc_message().
#pragma once

#include "field_writer.h"

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::decode {

// Facts about an RPC message from outside its bytes.
struct RpcContext {
  wire::ReadListView reads;           // data that is absent from the stream
  wire::WriteListView writes;         // Replies: likewise
  const ProcedureId* call = nullptr;  // Replies: the procedure answered
  std::uint32_t padded_from = kNotPadded;
};

void decode_rpc_fields(const FieldWriter& out, wire::Bytes rpc, const RpcContext& context);

}  // namespace rpcrdma::decode
