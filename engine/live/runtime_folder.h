// The folder for the sockets of a user's endpoints: $XDG_RUNTIME_DIR/rpcrdma, or /tmp/rpcrdma-UID
// if that directory is not the user's own. It belongs to the user and nobody else can read it;
// anything else in its place is refused, since it may be an attack.
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

// Errors: it cannot be created or opened; it is a symbolic link, belongs to another user, or its
// mode is not 0700.
[[nodiscard]] base::Expected<RuntimeFolder> make_runtime_folder();
// Opens the folder; returns nothing if there is none.
[[nodiscard]] base::Expected<std::optional<RuntimeFolder>> open_runtime_folder();

}  // namespace rpcrdma::trace
