#include "runtime_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

std::string runtime_folder_path() {
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
  return folder;
}

}  // namespace rpcrdma::trace
