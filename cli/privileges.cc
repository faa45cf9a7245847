#include "privileges.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/core.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rpcrdma::cli {

namespace {

using capture::fail;

tl::unexpected<capture::Error> cannot_become(const Identity& identity, const char* step) {
  return fail(fmt::format("cannot switch from root to the user {}: {}: {}", identity.user, step,
                          std::strerror(errno)));
}

// Reads the number of a user or group from the environment.
std::optional<unsigned> number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc{} || end != all.data() + all.size()) return std::nullopt;
  return value;
}

// Without libcap, all capabilities are dropped, which needs no computation.
bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

}  // namespace

capture::Expected<std::optional<Identity>> identity_after_opening(const std::string& user) {
  const bool root = ::geteuid() == 0;
  if (!user.empty()) {
    if (!root) return fail(fmt::format("--user {}: only root can switch to another user", user));
    const passwd* const entry = ::getpwnam(user.c_str());
    if (entry == nullptr) return fail(fmt::format("--user {}: there is no such user", user));
    if (entry->pw_uid == 0) return std::nullopt;
    return Identity{user, entry->pw_uid, entry->pw_gid};
  }
  const auto uid = number("SUDO_UID");
  const auto gid = number("SUDO_GID");
  if (!root || !uid || !gid || *uid == 0) return std::nullopt;
  const passwd* const entry = ::getpwuid(*uid);
  return Identity{entry != nullptr ? entry->pw_name : fmt::format("{}", *uid), *uid, *gid};
}

capture::Expected<void> give_up_privileges(const std::optional<Identity>& become) {
  if (become) {
    // A user without an entry is in its primary group only.
    if (::initgroups(become->user.c_str(), become->gid) != 0) {
      return cannot_become(*become, "initgroups");
    }
    if (::setresgid(become->gid, become->gid, become->gid) != 0) {
      return cannot_become(*become, "setresgid");
    }
    if (::setresuid(become->uid, become->uid, become->uid) != 0) {
      return cannot_become(*become, "setresuid");
    }
  }
  if (::geteuid() == 0) return {};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!drop_capabilities()) {
    return fail(fmt::format("cannot drop capabilities: {}", std::strerror(errno)));
  }
  if (::setuid(0) == 0 || ::setgid(0) == 0 || ::geteuid() == 0) {
    return fail(
        "root privileges were dropped but can be regained; this system behaves unexpectedly");
  }
  return {};
}

}  // namespace rpcrdma::cli
