// The pictures of the page of a load.
#pragma once

#include <string>

#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::cli {

// Sections; empty if there is nothing to draw.
[[nodiscard]] std::string charts_over_time(const load_ranks::Results& results,
                                           const load_ranks::Whole& whole);
[[nodiscard]] std::string charts_of_latency(const load_ranks::Results& results);

}  // namespace rpcrdma::cli
