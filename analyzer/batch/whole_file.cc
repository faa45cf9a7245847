#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/batch/whole_file.h>

namespace rpcrdma::batch {

base::Expected<void> write_whole(const std::string& path,
                                 const std::function<void(const Write&)>& produce) {
  return base::write_whole(path, produce, {.to_disk = true});
}

base::Expected<std::string> read_whole(const std::string& path) {
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 65536> piece{};
  ssize_t n = fd.get() < 0 ? -1 : 1;
  while (n > 0) {
    n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR)
      n = 1;
    else if (n > 0)
      text.append(piece.data(), static_cast<std::size_t>(n));
  }
  if (n < 0) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
  return text;
}

}  // namespace rpcrdma::batch
