// Manual pages in roff (man(7)), from the commands' own definitions.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rpcrdma::cli {

// The page of the program, rpcrdma(1), when `app` has no parent; else that of a command, such as
// rpcrdma-decode(1).
[[nodiscard]] std::string man_page(const CLI::App& app);

// "rpcrdma", "rpcrdma-decode": the name of the page, and of its file before ".1".
[[nodiscard]] std::string man_name(const CLI::App& app);

}  // namespace rpcrdma::cli
