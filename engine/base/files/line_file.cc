#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include <rpcrdma/base/line_file.h>
#include <rpcrdma/base/write_all.h>

namespace rpcrdma::base {

Expected<LineFile> LineFile::create(std::string path) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd.get() < 0) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  return LineFile(std::move(path), std::move(fd));
}

Expected<void> LineFile::write(std::string_view lines) {
  const Written done = write_all(fd_.get(), lines);
  if (done.error == 0) {
    whole_ += lines.size();
    return {};
  }
  const std::size_t end = lines.substr(0, done.bytes).rfind('\n');
  if (end != std::string_view::npos) whole_ += end + 1;
  // A pipe has no size.
  [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(whole_));
  return fail(fmt::format("{}: {}", path_, std::strerror(done.error)));
}

Expected<void> LineFile::finish() {
  if (::close(fd_.release()) == 0) return {};
  return fail(fmt::format("{}: {}", path_, std::strerror(errno)));
}

}  // namespace rpcrdma::base
