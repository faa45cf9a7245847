// Writes a report as one HTML page.
//
// The page loads nothing: it contains its styles, charts and script, and its content security
// policy forbids other requests. It is readable without the script. Its size is bounded: long lists
// show their most important entries and the number of the others. The markup is well-formed XML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

struct HtmlOptions {
  std::string title;    // such as the names of the capture files; any bytes
  std::string version;  // of the program
};

// Passes the page to `write` in pieces.
void write_html(const Report& report, const HtmlOptions& options,
                const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
