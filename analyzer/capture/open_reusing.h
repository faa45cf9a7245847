// open_file() for a reader of many files, one after the other.
#pragma once

#include "window_buffer.h"

#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

// The file's window takes memory from `spare` and returns it there when the source is destroyed.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_file_reusing(
    const std::string& path, std::shared_ptr<SpareBuffers> spare);

}  // namespace rpcrdma::capture
