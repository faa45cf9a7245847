// The page of --html: a load of one process or of many ranks, for a browser.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::cli {

// The whole page. `problems`: why the exit status is not 0, as on standard error. Bounded: of many
// ranks it draws the slowest.
[[nodiscard]] std::string load_page(const load_ranks::WholeSetup& setup,
                                    const load_ranks::Results& results,
                                    const load_ranks::Whole& whole,
                                    const std::vector<std::string>& problems);

}  // namespace rpcrdma::cli
