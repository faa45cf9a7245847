#include "window_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rpcrdma::capture {

WindowFile::WindowFile(base::FileDescriptor fd, std::uint64_t size,
                       std::shared_ptr<SpareBuffers> spare, std::size_t first_step)
    : Window(size, std::move(spare), first_step), fd_(std::move(fd)) {
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

bool WindowFile::begin_at(std::uint64_t offset) {
  if (offset > size() || offset < Feed::offset()) return false;
  leap(offset);
  return true;
}

std::size_t WindowFile::read_input(std::span<std::uint8_t> to) {
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(filled()));
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) {
      cut_short_ = true;
      damage_ = "the file was truncated while it was read";
      return 0;
    }
    if (errno == EINTR) continue;
    failure_ = std::string("cannot read: ") + std::strerror(errno);
    return 0;
  }
}

}  // namespace rpcrdma::capture
