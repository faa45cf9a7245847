#include "write_whole.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::service_discovery {
namespace {

using base::FileDescriptor;

// Returns errno, or 0.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  // A file system may notice only now that it is full.
  return ::fsync(fd) == 0 ? 0 : errno;
}

mode_t mode_by_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0644 & ~mask;
}

}  // namespace

bool holds(const std::string& path, const std::string& text) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != static_cast<off_t>(text.size())) {
    return false;
  }
  std::string read(text.size(), '\0');
  std::size_t length = 0;
  while (length < read.size()) {
    const ssize_t n = ::read(fd.get(), read.data() + length, read.size() - length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    length += static_cast<std::size_t>(n);
  }
  return read == text;
}

base::Expected<void> write_whole(const std::string& path, const std::string& text) {
  // Its name does not end in .json, so Prometheus does not read it.
  std::string temporary = path + ".XXXXXX";
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
  int error = write_all(fd.get(), text);
  if (error == 0 && ::fchmod(fd.get(), mode_by_umask()) != 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return base::fail(fmt::format("{}: {}", path, std::strerror(error)));
}

}  // namespace rpcrdma::service_discovery
