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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rpcrdma/program/privileges.h>

namespace rpcrdma::cli {

namespace {

using base::fail;

tl::unexpected<base::Error> cannot_become(const Identity& identity, const char* step) {
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
// Keeps those of `kept` that the process has.
bool set_capabilities(std::uint32_t kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (kept != 0 && ::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  const std::uint32_t has = sets[0].permitted & kept;
  sets = {};
  sets[0].effective = sets[0].permitted = has;
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

bool drop_capabilities() {
  return set_capabilities(0);
}

// sudo removes the variable, or leaves that of root. The user's other programs look for sockets in
// the folder of the user's session.
void use_runtime_folder_of(uid_t uid) {
  const std::string folder = fmt::format("/run/user/{}", uid);
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid) {
    ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  }
}

}  // namespace

base::Expected<std::optional<Identity>> identity_after_opening(const std::string& user) {
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

base::Expected<void> give_up_privileges(const std::optional<Identity>& become) {
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
    use_runtime_folder_of(become->uid);
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

std::optional<Identity> default_identity() {
  for (const char* const name : {"rpcrdma", "tcpdump"}) {
    const passwd* const entry = ::getpwnam(name);
    if (entry != nullptr && entry->pw_uid != 0) return Identity{name, entry->pw_uid, entry->pw_gid};
  }
  return std::nullopt;
}

base::Expected<void> limit_root(KeptRights kept) {
  constexpr std::uint32_t kFiles = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH |
                                   1U << CAP_FOWNER | 1U << CAP_NET_BIND_SERVICE;
  // Otherwise an execve() of root regains all.
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (set_capabilities(kept == KeptRights::kFiles ? kFiles : 0)) return {};
  return fail(fmt::format("cannot drop capabilities: {}", std::strerror(errno)));
}

EffectiveUser::EffectiveUser(const Identity& identity) : uid_(::geteuid()), gid_(::getegid()) {
  if (::setegid(identity.gid) == 0 && ::seteuid(identity.uid) == 0) {
    use_runtime_folder_of(identity.uid);
  }
}
EffectiveUser::~EffectiveUser() {
  // In this order: only root may change its group.
  [[maybe_unused]] const bool restored = ::seteuid(uid_) == 0 && ::setegid(gid_) == 0;
}

}  // namespace rpcrdma::cli
