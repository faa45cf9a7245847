// A report as JSON (docs/json.md).
#pragma once

#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Rises when a key changes its meaning.
inline constexpr const char* kSchema = "rpcrdma-analysis-1";

// In pieces, since a capture may have very many connections.
using Write = std::function<void(std::string_view)>;

// One object and a newline.
void write_json(const Report& report, const Write& write);

}  // namespace rpcrdma::report
