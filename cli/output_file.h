// Output files that commands write as a whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::cli {

using Write = std::function<void(std::string_view)>;

// Passes `produce` a function that writes. Returns false, and reports it, when not all could be
// written.
[[nodiscard]] bool write_file(const std::string& path,
                              const std::function<void(const Write&)>& produce);

// Returns whether `output` is one of the `inputs`, which would be truncated before it is read.
[[nodiscard]] bool is_input(const std::string& output, const std::vector<std::string>& inputs);

// Returns a function that writes to standard output, which gets a larger buffer. Call it before
// anything else is written there.
[[nodiscard]] Write buffered_stdout();

}  // namespace rpcrdma::cli
