// Latency tables as text.
#pragma once

#include <cstddef>
#include <string>

#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::report {

// The columns of a latency distribution, each with a blank in front: "  Calls       p50 ...".
[[nodiscard]] std::string latency_heading();
// The same columns for one distribution. A quantile that needs more values than there are is "-".
[[nodiscard]] std::string latency_columns(const base::Histogram& h);

// A table with at most `most` rows; empty without rows.
[[nodiscard]] std::string latency_table_text(const Report& report, LatencyBy by, std::size_t most,
                                             bool colour);

// Short tables of clients, servers and connections, as far as there are several.
[[nodiscard]] std::string who_is_slow(const Report& report, bool colour);

}  // namespace rpcrdma::report
