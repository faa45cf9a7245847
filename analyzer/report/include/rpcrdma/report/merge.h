// Merges several reports into one, as if their captures had been analyzed together (docs/merge.md).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Merges in the order of the captures' first frames, so the order of `reports` does not matter. A
// connection that is open at the end of one report and has a mid-stream start in a later one,
// between the same addresses and QPs, is one connection. Errors: the reports have different
// profiles or filters, more connections than there are IDs, or show the same traffic: two reports
// are equal, or have packets of one connection at the same time. `names` of the reports, for the
// error; "report 1" for those without.
[[nodiscard]] tl::expected<Report, std::string> merge(std::vector<Report> reports,
                                                      const std::vector<std::string>& names = {});

// Returns a report by its number from 0. The error is returned as it is.
using ReadReport = std::function<tl::expected<Report, std::string>(std::size_t)>;

// The same for `count` reports that need not fit into memory together: reads each twice, first to
// find the order, and keeps few partial sums. Memory is bounded by the result, mostly by its
// connections. Further errors: those of `read`, and a report that is another when it is read again.
[[nodiscard]] tl::expected<Report, std::string> merge(std::size_t count, const ReadReport& read,
                                                      const std::vector<std::string>& names = {});

}  // namespace rpcrdma::report
