// Where the sockets of a user's endpoints are: $XDG_RUNTIME_DIR/rpcrdma, or without one that is the
// user's own /tmp/rpcrdma-UID. A folder of the user's, which nobody else can look into: anything
// else in its place is refused, since it may be somebody else's trap.
#pragma once

#include <optional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

struct RuntimeFolder {
  std::string path;
  base::FileDescriptor fd;
};

[[nodiscard]] std::string runtime_folder_path();

// Errors: it cannot be made or opened; it is a symbolic link, another user's, or its mode is not
// 0700.
[[nodiscard]] base::Expected<RuntimeFolder> make_runtime_folder();
// The same, but nothing where there is none.
[[nodiscard]] base::Expected<std::optional<RuntimeFolder>> open_runtime_folder();

}  // namespace rpcrdma::trace
