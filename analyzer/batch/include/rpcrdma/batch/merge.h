// Merges the reports of a batch's units.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::batch {

// Merges files of reports (report::merge()), one in memory at a time, and writes the result whole.
// Errors: a file is no report; two reports show the same traffic; the result cannot be written.
[[nodiscard]] base::Expected<void> merge_files(const std::vector<std::string>& paths,
                                               const std::string& result);

}  // namespace rpcrdma::batch
