// Input of commands that read reports of analyze --json.
#pragma once

#include <optional>
#include <string>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::cli {

// Reads a report; "-" is standard input. The error is a line for display that names the path.
[[nodiscard]] tl::expected<report::Report, std::string> read_report(const std::string& path);

// Reads a report, or the output of load --json as a report with procedures only, and then sets
// `is_load`. After an error, prints a line on stderr and returns nothing.
[[nodiscard]] std::optional<report::Report> read_report_or_load(const std::string& path,
                                                                bool& is_load);

// Returns whether a file begins as a report does and not as a capture. True for standard input.
[[nodiscard]] bool looks_like_report(const std::string& path);

}  // namespace rpcrdma::cli
