// Replaces a file at once, so that a reader sees all of the old or all of the new text.
#pragma once

#include <string>

#include <rpcrdma/base/error.h>

namespace rpcrdma::service_discovery {

// Whether the file holds this text, and nothing else.
[[nodiscard]] bool holds(const std::string& path, const std::string& text);

// Readable for all users, as umask allows: Prometheus is another one. Error: it cannot be written,
// and is as it was.
[[nodiscard]] base::Expected<void> write_whole(const std::string& path, const std::string& text);

}  // namespace rpcrdma::service_discovery
