// Files that commands write as a whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rpcrdma::cli {

using Write = std::function<void(std::string_view)>;

// Gives `produce` where to write. False, and a complaint, when not all could be written.
[[nodiscard]] bool write_file(const std::string& path,
                              const std::function<void(const Write&)>& produce);

// To standard output, which has a larger buffer from now on. Before anything else is written there.
[[nodiscard]] Write buffered_stdout();

}  // namespace rpcrdma::cli
