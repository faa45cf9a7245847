// A report as one page for a browser, to be read, printed, or sent to somebody.
//
// The page asks for nothing from anywhere: styles, pictures and its little script are within, and
// it forbids the browser to fetch more. Without the script all is readable. Its size is bounded: of
// what a capture has too much of, it shows what matters most and says how many more there are. The
// markup is well-formed XML too.
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

// `write` is given pieces.
void write_html(const Report& report, const HtmlOptions& options,
                const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
