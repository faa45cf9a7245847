// What is known of the views of a connection, for people.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// "server.pcapng, recorded by the server's endpoint".
[[nodiscard]] std::string view_name(const session::View& view);

// Sentences about one view: what it has in common with the view that the report follows, where they
// disagree, the clocks, and the time between Call and Reply in both.
[[nodiscard]] std::vector<std::string> view_text(const session::View& view);

}  // namespace rpcrdma::report
