#pragma once

#include "json_node.h"

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/recording.h>

namespace rpcrdma::report {

// The member "recording" of a report; null where no endpoint told anything.
void write_recording(JsonWriter& json, const Recording& r);
void read_recording(const JsonNode& n, Recording& r);

}  // namespace rpcrdma::report
