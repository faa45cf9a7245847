// Files that appear whole or not at all, whatever happens to the process or the machine.
#pragma once

#include <functional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/whole_file.h>

namespace rpcrdma::batch {

using base::Write;

// A base::WholeFile that is forced to the disk.
[[nodiscard]] base::Expected<void> write_whole(const std::string& path,
                                               const std::function<void(const Write&)>& produce);

// Errors name the file.
[[nodiscard]] base::Expected<std::string> read_whole(const std::string& path);

}  // namespace rpcrdma::batch
