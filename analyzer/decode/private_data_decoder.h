// Decodes RPC-over-RDMA's private data inside a larger span.
#pragma once

#include "field_writer.h"

namespace rpcrdma::decode {

void private_data_fields(const FieldWriter& out, wire::Bytes data);

}  // namespace rpcrdma::decode
