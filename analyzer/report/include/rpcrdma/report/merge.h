// Several reports as one, as if their captures had been analyzed together (docs/merge.md).
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// In order of their captures' first frames, so the order of `reports` does not matter. A connection
// that was open at the end of one report and was there from the beginning in a later one, between
// the same addresses and QPs, is one connection. Errors: reports by different profiles
// or filters; more connections than there are IDs.
[[nodiscard]] tl::expected<Report, std::string> merge(std::vector<Report> reports);

}  // namespace rpcrdma::report
