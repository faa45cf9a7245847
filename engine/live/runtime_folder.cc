#include "runtime_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::trace {
namespace {

using base::fail;

constexpr mode_t kFolderMode = 0700;

// In a program that became root the variable may still be that of the calling user.
bool is_the_users_own(const char* path) {
  struct stat status {};
  return path != nullptr && path[0] == '/' && ::stat(path, &status) == 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

// Returns the folder that systemd made for this service alone (RuntimeDirectory=), if it is one
// for sockets.
const char* folder_of_service() {
  const char* const path = std::getenv("RUNTIME_DIRECTORY");
  struct stat status {};
  const bool is_ours = path != nullptr && std::string_view(path).starts_with("/run/rpcrdma/") &&
                       ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
                       status.st_uid == ::geteuid() && (status.st_mode & 0777) == kFolderMode;
  return is_ours ? path : nullptr;
}

}  // namespace

std::string runtime_folder_path() {
  if (const char* const service = folder_of_service()) return service;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  return is_the_users_own(runtime) ? fmt::format("{}/rpcrdma", runtime)
                                   : fmt::format("/tmp/rpcrdma-{}", ::geteuid());
}

base::Expected<RuntimeFolder> make_runtime_folder() {
  const std::string path = runtime_folder_path();
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return fail(fmt::format("{}: cannot create this folder: {}", path, std::strerror(errno)));
  }
  auto opened = open_runtime_folder();
  if (!opened) return tl::unexpected(opened.error());
  if (!*opened) return fail(path + ": this folder was removed");
  return std::move(**opened);
}

base::Expected<std::optional<RuntimeFolder>> open_runtime_folder() {
  RuntimeFolder folder;
  folder.path = runtime_folder_path();
  folder.fd = base::FileDescriptor(
      ::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.fd.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ENOTDIR || errno == ELOOP) {
      return fail(folder.path + ": not a folder; remove it");
    }
    return fail(fmt::format("{}: {}", folder.path, std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(folder.fd.get(), &status) != 0) {
    return fail(fmt::format("{}: {}", folder.path, std::strerror(errno)));
  }
  if (status.st_uid != ::geteuid()) {
    return fail(folder.path + ": this folder belongs to another user and is not used");
  }
  if ((status.st_mode & 0777) != kFolderMode) {
    return fail(fmt::format("{}: this folder has mode {:04o}, not 0700; it is not used",
                            folder.path, status.st_mode & 0777));
  }
  folder.owner = status.st_uid;
  return folder;
}

namespace {

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

// Opens another user's folder. `owner`: who it must belong to; nothing: any user, because only root
// can have put it there.
std::optional<RuntimeFolder> open_folder_of(const std::string& path, std::optional<uid_t> owner) {
  RuntimeFolder folder;
  folder.path = path;
  folder.fd =
      base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (folder.fd.get() < 0 || ::fstat(folder.fd.get(), &status) != 0 ||
      (status.st_mode & 0777) != kFolderMode || status.st_uid != owner.value_or(status.st_uid) ||
      status.st_uid == ::geteuid()) {
    return std::nullopt;
  }
  folder.owner = status.st_uid;
  return folder;
}

}  // namespace

std::vector<RuntimeFolder> folders_of_others(const RuntimeRoots& roots) {
  std::vector<RuntimeFolder> folders;
  if (::geteuid() != 0) return folders;
  const auto add = [&](const std::string& path, std::optional<uid_t> owner) {
    if (folders.size() >= kMostFolders) return;
    if (auto folder = open_folder_of(path, owner)) folders.push_back(std::move(*folder));
  };
  for (const std::string& name : names_in(roots.services)) {
    add(fmt::format("{}/{}", roots.services, name), std::nullopt);
  }
  for (const std::string& name : names_in(roots.users)) {
    if (const auto uid = base::parse_u32(name)) {
      add(fmt::format("{}/{}/rpcrdma", roots.users, name), *uid);
    }
  }
  constexpr std::string_view kPrefix = "rpcrdma-";
  for (const std::string& name : names_in(roots.temporary)) {
    if (!name.starts_with(kPrefix)) continue;
    if (const auto uid = base::parse_u32(std::string_view(name).substr(kPrefix.size()))) {
      add(fmt::format("{}/{}", roots.temporary, name), *uid);
    }
  }
  return folders;
}

}  // namespace rpcrdma::trace
