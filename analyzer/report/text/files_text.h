// The table of files in a text report.
#pragma once

#include <cstddef>
#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Appends the files that took the most time and those that moved the most bytes, at most `most` of
// each; nothing if no Call was about a file.
void files_text(const Report& report, std::size_t most, bool colour, std::string& out);

}  // namespace rpcrdma::report
