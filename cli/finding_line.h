// A breach of a rule as it is found, for the commands that print while they capture.
#pragma once

#include <string>

#include <rpcrdma/report/context.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::cli {

// "!! error FC-01 client 10.0.0.2: 3 Calls outstanding, 2 granted (connection 1, frames 12, 15)"
// and a newline; red or yellow with `colour`.
[[nodiscard]] std::string finding_line(const rules::Occurrence& found,
                                       const report::Context& context, bool colour);

// The same as an object with the only key "finding" (docs/json.md), and a newline.
[[nodiscard]] std::string finding_json(const rules::Occurrence& found,
                                       const report::Context& context);

}  // namespace rpcrdma::cli
