// Giving up what only the opening of a capture needs.
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

// Whom root should become: `user` when it is not empty; else, under sudo, the user who called it.
// Nobody when the program does not run as root, or that user is root. Errors: an unknown user; a
// user is given, but the program does not run as root.
[[nodiscard]] capture::Expected<std::optional<Identity>> identity_after_opening(
    const std::string& user);

// Becomes that user with their groups, or stays who it is, and gives up all capabilities unless it
// stays root; makes sure that none of it can be had back. For a program with one thread.
[[nodiscard]] capture::Expected<void> give_up_privileges(const std::optional<Identity>& become);

}  // namespace rpcrdma::cli
