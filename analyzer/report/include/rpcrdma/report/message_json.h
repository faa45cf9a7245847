// Writes messages as JSON objects. docs/json.md describes every key.
#pragma once

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

// Writes one object. `call`: the Call that `m` is or answers; null if unknown. A Call's object
// lists its RDMA READs, a Reply's object the RDMA WRITEs.
void write_message(JsonWriter& json, const model::Message& m, const model::Call* call,
                   const Context& context);

// Write parts of that object into an object that is already open: the message's own fields, from
// `kind` to `rpc`; and the key `rpc` alone.
void write_header(JsonWriter& json, const model::Message& m);
void write_rpc(JsonWriter& json, const model::Message& m);

}  // namespace rpcrdma::report
