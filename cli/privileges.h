// Drops privileges that only opening a capture needs.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include <rpcrdma/capture/error.h>

namespace rpcrdma::cli {

struct Identity {
  std::string user;
  uid_t uid = 0;
  gid_t gid = 0;
};

// Returns the user to switch to from root: `user` if not empty, else, under sudo, the user who
// called it. Nothing if the program does not run as root, or that user is root. Fails for an
// unknown user, and if `user` is given but the program does not run as root.
[[nodiscard]] capture::Expected<std::optional<Identity>> identity_after_opening(
    const std::string& user);

// Switches to that user with their groups, or stays the current user, and drops all capabilities
// unless it stays root. Verifies that none of it can be regained. For programs with one thread.
[[nodiscard]] capture::Expected<void> give_up_privileges(const std::optional<Identity>& become);

}  // namespace rpcrdma::cli
