// Drops privileges that only opening a capture, or a kernel source, needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include <rpcrdma/base/error.h>

namespace rpcrdma::cli {

struct Identity {
  std::string user;
  uid_t uid = 0;
  gid_t gid = 0;
};

// Returns the user to switch to from root: `user` if not empty, else, under sudo, the user who
// called it. Nothing if the program does not run as root, or that user is root. Fails for an
// unknown user, and if `user` is given but the program does not run as root.
[[nodiscard]] base::Expected<std::optional<Identity>> identity_after_opening(
    const std::string& user);

// Switches to that user with their groups, or stays the current user, and drops all capabilities
// unless it stays root. Verifies that none of it can be regained. As another user, the environment
// names that user's runtime folder, if there is one. For programs with one thread.
[[nodiscard]] base::Expected<void> give_up_privileges(const std::optional<Identity>& become);

// Returns the user for whom a distribution made it to be switched to from root: "rpcrdma", else
// "tcpdump", as Debian's tcpdump does; nothing if neither exists. Not "nobody": files of nobody
// belong to every program that runs as it.
[[nodiscard]] std::optional<Identity> default_identity();

// Rights of a root that stays.
enum class KeptRights : std::uint8_t {
  kNone,
  kFiles,  // to files of other users, and to ports below 1024
};
// Drops all other capabilities, for a program that stays root. Those that are kept cannot be used
// to regain others.
[[nodiscard]] base::Expected<void> limit_root(KeptRights kept);

// While it exists, files are opened and sockets connected as that user. The environment names the
// user's runtime folder from then on. Without success nothing changes.
class EffectiveUser {
 public:
  explicit EffectiveUser(const Identity& identity);
  ~EffectiveUser();
  EffectiveUser(const EffectiveUser&) = delete;
  EffectiveUser& operator=(const EffectiveUser&) = delete;

 private:
  uid_t uid_;
  gid_t gid_;
};

}  // namespace rpcrdma::cli
