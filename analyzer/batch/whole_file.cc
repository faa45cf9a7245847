#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/batch/whole_file.h>

namespace rpcrdma::batch {

namespace {

// Collects the text of many small writes.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  void add(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBuffer) flush();
  }
  void flush() {
    std::string_view left = buffer_;
    while (error_ == 0 && !left.empty()) {
      const ssize_t n = ::write(fd_, left.data(), left.size());
      if (n >= 0) {
        left.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    buffer_.clear();
  }
  [[nodiscard]] int error() const { return error_; }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 18;

  int fd_;
  int error_ = 0;
  std::string buffer_;
};

// Some file systems cannot force a directory to the disk.
void sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const base::FileDescriptor fd(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

}  // namespace

base::Expected<void> write_whole(const std::string& path,
                                 const std::function<void(const Write&)>& produce) {
  std::string temporary = path + ".XXXXXX";
  base::FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
  ::fchmod(fd.get(), 0644);
  Output output(fd.get());
  produce([&](std::string_view text) { output.add(text); });
  output.flush();
  int error = output.error();
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (::close(fd.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return base::fail(fmt::format("{}: {}", path, std::strerror(error)));
  }
  sync_folder(path);
  return {};
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
