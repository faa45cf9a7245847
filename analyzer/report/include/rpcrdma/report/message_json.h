// Messages as JSON objects; docs/json.md describes every key.
#pragma once

#include <nlohmann/json.hpp>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

// `call`: the Call that `m` is, or that it answers; null when not known. Its operations go to the
// half that they belong to: RDMA READs to the Call, RDMA WRITEs to the Reply.
[[nodiscard]] nlohmann::ordered_json message_json(const model::Message& m, const model::Call* call,
                                                  const Context& context);

// One line, invalid UTF-8 replaced; never throws.
[[nodiscard]] std::string dump_line(const nlohmann::ordered_json& object);

}  // namespace rpcrdma::report
