// Messages as JSON objects; docs/json.md describes every key.
#pragma once

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

// Writes one object. `call`: the Call that `m` is, or that it answers; null when not known. Its
// operations go to the half that they belong to: RDMA READs to the Call, RDMA WRITEs to the Reply.
void write_message(JsonWriter& json, const model::Message& m, const model::Call* call,
                   const Context& context);

// Parts of it, into an object that is open: what the message itself says, from its kind to what is
// known of the RPC; and the latter alone, as the key `rpc`.
void write_header(JsonWriter& json, const model::Message& m);
void write_rpc(JsonWriter& json, const model::Message& m);

}  // namespace rpcrdma::report
