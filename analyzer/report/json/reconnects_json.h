// What a report has for Calls that are sent again, as JSON and back.
#pragma once

#include "json_node.h"

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/reconnects.h>

namespace rpcrdma::report {

void write_reconnects(JsonWriter& json, const Reconnects& reconnects);
// `ids`: connections have IDs of 1 to this.
[[nodiscard]] Reconnects read_reconnects(const JsonNode& node, std::uint32_t ids);

}  // namespace rpcrdma::report
