// Files that appear whole or not at all, whatever happens to the process or the machine.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <rpcrdma/base/error.h>

namespace rpcrdma::batch {

using Write = std::function<void(std::string_view)>;

// Writes a file beside `path`, forces it to the disk, and renames it. Errors name the file and the
// reason, such as a full disk; nothing is left then.
[[nodiscard]] base::Expected<void> write_whole(const std::string& path,
                                               const std::function<void(const Write&)>& produce);

// Errors name the file.
[[nodiscard]] base::Expected<std::string> read_whole(const std::string& path);

}  // namespace rpcrdma::batch
