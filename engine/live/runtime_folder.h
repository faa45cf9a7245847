// The folder for the sockets of a user's endpoints: the service's own below /run/rpcrdma, where
// systemd made one ($RUNTIME_DIRECTORY); else $XDG_RUNTIME_DIR/rpcrdma; else /tmp/rpcrdma-UID. It
// belongs to the user and nobody else can read it; anything else in its place is refused, since it
// may be an attack.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

struct RuntimeFolder {
  std::string path;
  base::FileDescriptor fd;
  uid_t owner = 0;
};

[[nodiscard]] std::string runtime_folder_path();

// Errors: it cannot be created or opened; it is a symbolic link, belongs to another user, or its
// mode is not 0700.
[[nodiscard]] base::Expected<RuntimeFolder> make_runtime_folder();
// Opens the folder; returns nothing if there is none.
[[nodiscard]] base::Expected<std::optional<RuntimeFolder>> open_runtime_folder();

// Where the folders of all users are looked for.
struct RuntimeRoots {
  std::string users = "/run/user";        // USERS/UID/rpcrdma
  std::string temporary = "/tmp";         // TEMPORARY/rpcrdma-UID
  std::string services = "/run/rpcrdma";  // SERVICES/NAME; only root writes here
};

// Returns the folders of other users, for root; none for others. One that does not belong to the
// user of its name, or that others can read, is left out, and so are those beyond kMostFolders.
inline constexpr std::size_t kMostFolders = 1024;
[[nodiscard]] std::vector<RuntimeFolder> folders_of_others(const RuntimeRoots& roots = {});

}  // namespace rpcrdma::trace
