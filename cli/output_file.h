// Files that commands write as a whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::cli {

using Write = std::function<void(std::string_view)>;

// Gives `produce` where to write. False, and a complaint, when not all could be written.
[[nodiscard]] bool write_file(const std::string& path,
                              const std::function<void(const Write&)>& produce);

// One of the `inputs` is that file: it would be emptied before it is read.
[[nodiscard]] bool is_input(const std::string& output, const std::vector<std::string>& inputs);

// To standard output, which has a larger buffer from now on. Before anything else is written there.
[[nodiscard]] Write buffered_stdout();

}  // namespace rpcrdma::cli
