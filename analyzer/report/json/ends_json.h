// Writes what both ends of Calls show (docs/json.md).
#pragma once

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

// The value of the key "ends" in an object that is open.
void write_ends(JsonWriter& json, const ends::Ends& ends);

}  // namespace rpcrdma::report
